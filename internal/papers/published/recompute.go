package published

import (
	"fmt"
)

// Result is a study with everything in it recomputed.
type Result struct {
	*Study
	Claims []ClaimResult `json:"claims"`
	Scored *Scored       `json:"scores,omitempty"`
	// Arithmetic holds printed figures that follow from other printed ones:
	// percentages printed with a table, baselines repeated with thresholds.
	Arithmetic []Finding       `json:"arithmetic,omitempty"`
	Count      map[Outcome]int `json:"count"` // claims by outcome
}

// ClaimResult is a claim with its outcome.
type ClaimResult struct {
	*Claim
	Outcome  Outcome   `json:"outcome"`
	Findings []Finding `json:"findings"`
	// Rescored is set if the claim is about scores and has another outcome with
	// the recomputed ones.
	Rescored *Rescored `json:"rescored,omitempty"`
}

// Rescored is the outcome of a claim with every score recomputed.
type Rescored struct {
	Outcome  Outcome   `json:"outcome"`
	Findings []Finding `json:"findings"`
}

// Recompute evaluates every claim and every score.
func (s *Study) Recompute() Result {
	r := Result{Study: s, Count: map[Outcome]int{}}
	rescored := s
	if s.Scores != nil {
		r.Scored = s.score()
		rescored = s.with(r.Scored)
	}
	for i := range s.Claims {
		c := ClaimResult{Claim: &s.Claims[i]}
		c.Outcome, c.Findings = s.held(c.Claim)
		if again, findings := rescored.held(c.Claim); again != c.Outcome {
			for j := range findings {
				findings[j].copied = false // no score of these is printed anywhere
			}
			c.Rescored = &Rescored{again, findings}
		}
		r.Claims = append(r.Claims, c)
		r.Count[c.Outcome]++
	}
	r.Arithmetic = append(s.printedChanges(), s.printedBaselines()...)
	return r
}

// held evaluates all checks of a claim.
func (s *Study) held(c *Claim) (Outcome, []Finding) {
	outcome, all := Holds, []Finding(nil)
	for i := range c.Checks {
		findings, err := s.evaluate(&c.Checks[i])
		if err != nil { // Parse has evaluated it before
			panic(fmt.Sprintf("published: %s: claim %s: %s", s.Study, c.ID, err))
		}
		for _, f := range findings {
			outcome = worse(outcome, f.Outcome)
		}
		all = append(all, findings...)
	}
	return outcome, all
}

// printedChanges recomputes the percentages that are printed with figures.
func (s *Study) printedChanges() []Finding {
	var findings []Finding
	for i := range s.Tables {
		t := &s.Tables[i]
		if t.Changes == nil {
			continue
		}
		for _, row := range t.rows() {
			changes := t.changes(row)
			for _, e := range s.Environments {
				printed, ok := changes[e.ID]
				if !ok {
					continue
				}
				findings = append(findings, s.printedChange(t, row, e.ID, printed))
			}
		}
	}
	return findings
}

func (s *Study) printedChange(t *Table, row Row, id string, printed Number) Finding {
	l := located{Operand{Environment: id}, &sheet{t.Metric, t.Unit, t.Better, t.Place, nil, t}, nil, nil}
	figures := fmt.Sprintf("%s %s, %s %s", s.Name(id), row.Cells[id].Value, s.Name(t.Changes.Over), row.Cells[t.Changes.Over].Value)
	found, ok := row.Cells[id].Value.span().over(row.Cells[t.Changes.Over].Value.span())
	if !ok {
		return Finding{Outcome: NotChecked, Where: l.where(row), Figures: figures, Reason: "the divisor can be zero"}
	}
	form := "%+.*f%%"
	if t.Changes.Parts {
		found, form = found.times(100), "%.*f%%"
	} else {
		found = found.change()
	}
	format := func(x float64) string { return fmt.Sprintf(form, printed.decimals+1, x) }
	return judged(found, aim(printed, "exactly"), printed.text, l.where(row), figures, format)
}

// printedBaselines compares the baselines printed with thresholds with the tables.
func (s *Study) printedBaselines() []Finding {
	if s.Scores == nil {
		return nil
	}
	var findings []Finding
	for _, g := range s.Scores.Groups {
		for _, f := range g.Features {
			if f.Baseline == nil {
				continue
			}
			t := s.tableByID(f.Table)
			cell := t.Cells[s.Scores.Baseline].Value
			finding := Finding{Outcome: Holds, Where: fmt.Sprintf("%s and %s, %s of %s", s.Scores.Place, t.Place, t.Metric, s.Name(s.Scores.Baseline)),
				Claimed: f.Baseline.text, Found: cell.text, copied: true,
				Figures: fmt.Sprintf("%s prints %s, %s prints %s", s.Scores.Place, f.Baseline, t.Place, cell)}
			if !sameFigure(f.Baseline.text, cell.text) {
				away := f.Baseline.value - cell.value
				finding.Outcome, finding.Off = Fails, trimmed(max(away, -away))+" "+t.Unit
			}
			findings = append(findings, finding)
		}
	}
	return findings
}

// Listed is a study in the list of all.
type Listed struct {
	Name  string          `json:"name"`
	About string          `json:"about"`
	Count map[Outcome]int `json:"claims"`
}

// Claims is the number of all claims.
func (l Listed) Claims() (n int) {
	for _, count := range l.Count {
		n += count
	}
	return n
}

// List recomputes every built-in study.
func List() ([]Listed, error) {
	list := []Listed{}
	for _, name := range Names() {
		s, err := Builtin(name)
		if err != nil {
			return nil, err
		}
		list = append(list, Listed{name, s.Source.Title, s.Recompute().Count})
	}
	return list, nil
}

// Ratio is one printed figure relative to that of a baseline.
type Ratio struct {
	Table       *Table
	Level       Level // nil for a table without levels
	Environment *Environment
	Baseline    *Environment

	Value     float64 // environment over baseline
	Low, High float64 // for figures that round to the printed ones
}

// Ratios are over the study's own baseline; none where it has none.
func (s *Study) Ratios() []Ratio { return s.RatiosOver(s.Baseline) }

// RatiosOver are over any of its environments.
func (s *Study) RatiosOver(baseline string) (list []Ratio) {
	for i := range s.Tables {
		list = append(list, s.RatiosOf(&s.Tables[i], baseline)...)
	}
	return list
}

// RatiosOf are those of one table.
func (s *Study) RatiosOf(t *Table, baseline string) (list []Ratio) {
	base := s.Environment(baseline)
	if base == nil {
		return nil
	}
	for _, row := range t.rows() {
		b, ok := row.Cells[baseline]
		if !ok || b.Empty {
			continue
		}
		for j := range s.Environments {
			e := &s.Environments[j]
			c, ok := row.Cells[e.ID]
			if !ok || c.Empty || e == base {
				continue
			}
			if r, ok := c.Value.span().over(b.Value.span()); ok {
				list = append(list, Ratio{t, row.At, e, base, r.mid, r.low, r.high})
			}
		}
	}
	return list
}
