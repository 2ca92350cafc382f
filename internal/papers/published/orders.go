package published

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/failing"
)

var relations = []string{"<", ">", "<=", ">=", "="}

// related compares a and b. Equal printed figures are not less than each other, but
// the unrounded ones may be.
func related(a span, relation string, b span) Outcome {
	tiny := slack * max(1, a.mid, b.mid)
	holds, possible := false, false
	switch relation {
	case "<":
		holds, possible = a.mid < b.mid-tiny, a.low < b.high-tiny
	case "<=":
		holds, possible = a.mid <= b.mid+tiny, a.low <= b.high+tiny
	case ">", ">=":
		return related(b, strings.Replace(relation, ">", "<", 1), a)
	case "=":
		holds, possible = max(a.mid, b.mid)-min(a.mid, b.mid) <= tiny, a.low <= b.high+tiny && b.low <= a.high+tiny
	}
	switch {
	case holds:
		return Holds
	case possible:
		return WithinRounding
	}
	return Fails
}

// related compares two figures, with what speaks against the relation.
func (s *Study) related(a located, at Row, x figure, relation string, b located, other Row, y figure) (Outcome, string) {
	if s.again != nil {
		return s.relatedAgain(a.spot(at), relation, b.spot(other))
	}
	return related(x.span, relation, y.span), s.gap(a, x, b, y)
}

// comparison is a finding about figures of which each is related to another one.
type comparison struct {
	Finding
	shown, against []string
}

// add adds a relation, with what speaks against it if it does not hold.
func (c *comparison) add(outcome Outcome, against string) {
	if c.Outcome = worse(c.Outcome, outcome); outcome != Holds {
		c.against = append(c.against, against)
	}
}

func (c comparison) finding() Finding {
	c.Figures, c.Off = strings.Join(c.shown, ", "), strings.Join(c.against, "; ")
	return c.Finding
}

// order is a chain of environments with relations between them.
func (s *Study) order(c *Check) (findings []Finding) {
	words := strings.Fields(c.Order)
	if len(words) < 3 || len(words)%2 == 0 {
		failing.With("expected an order such as docker < gvisor < kvm, found %q", c.Order)
	}
	var chain []located
	for i, word := range words {
		if i%2 == 0 {
			chain = append(chain, s.locate(c, Operand{Environment: word}))
		} else if !slices.Contains(relations, word) {
			unknown("relation", word, relations)
		}
	}
	for _, row := range chain[0].rows {
		finding, err := s.chained(chain, words, row)
		if err == nil {
			findings = append(findings, finding)
		} else if len(c.At) > 0 || len(chain[0].rows) == 1 || s.again != nil && len(findings) == 0 && row.At.String() == chain[0].rows[len(chain[0].rows)-1].At.String() {
			failing.Must(finding, err)
		}
	}
	if len(findings) == 0 {
		failing.With("no row of %s has the values of all of %s", chain[0].sheet.place, c.Order)
	}
	return findings
}

func (s *Study) chained(chain []located, words []string, row Row) (Finding, error) {
	named := slices.Clone(words) // with the study's names in place of ids
	for i := 0; i < len(named); i += 2 {
		named[i] = s.Name(named[i])
	}
	c := comparison{Finding: Finding{Outcome: Holds, Where: chain[0].where(row), Claimed: strings.Join(named, " ")}}
	var before figure
	for i, l := range chain {
		now, err := l.figure(row)
		if err != nil {
			return c.Finding, err
		}
		c.shown = append(c.shown, l.shown(s, now))
		if i > 0 {
			c.add(s.related(chain[i-1], row, before, words[2*i-1], l, row, now))
		}
		before = now
	}
	return c.finding(), nil
}

// gap describes the actual order of two figures.
func (s *Study) gap(a located, x figure, b located, y figure) string {
	first, second := s.Name(a.Environment), s.Name(b.Environment)
	switch {
	case x.mid == y.mid:
		return fmt.Sprintf("%s and %s are both %s", first, second, x.text)
	case x.mid < y.mid:
		first, second, x, y = second, first, y, x
	}
	if a.sheet.unit == "points" || y.mid == 0 {
		away := trimmed(x.mid-y.mid) + a.unitText()
		if away == "1 points" {
			away = "1 point"
		}
		return fmt.Sprintf("%s is %s above %s", first, away, second)
	}
	return fmt.Sprintf("%s is %.1f%% above %s", first, x.mid/y.mid*100-100, second)
}

func trimmed(x float64) string { return fmt.Sprintf("%.6g", x) }

// extreme checks that an environment is the best or the worst of all.
func (s *Study) extreme(c *Check) []Finding {
	return s.each(c, func(of located, p point) Finding {
		relation := direction(c.Extreme, of)
		all := comparison{Finding: Finding{Outcome: Holds, Where: of.where(p.row), Claimed: s.Name(of.Environment) + " " + c.Extreme}}
		all.shown = []string{of.shown(s, p.figure)}
		for _, other := range s.others(c.Among, p.row, of.Environment) {
			l := of
			l.Environment = other
			theirs, err := l.figure(p.row)
			if err == nil {
				all.shown = append(all.shown, l.shown(s, theirs))
				all.add(s.related(of, p.row, p.figure, relation, l, p.row, theirs))
			} else if s.again != nil {
				all.add(CannotBeAsked, err.Error())
			} else if len(c.Among) > 0 || l.Statistic == "" {
				failing.Must(theirs, err)
			}
		}
		if len(all.shown) == 1 {
			failing.With("%[2]s has nothing to compare %[1]q with", of.Environment, p.row.where())
		}
		return all.finding()
	})
}

// direction is the relation that makes a figure the extreme one.
func direction(extreme string, of located) string {
	better := of.sheet.better
	if of.Statistic == "sd" || of.Statistic == "cv" {
		better = "neither"
	}
	switch {
	case extreme == "highest":
		return ">"
	case extreme == "lowest":
		return "<"
	case extreme != "best" && extreme != "worst":
		unknown("extreme", extreme, []string{"best", "worst", "highest", "lowest"})
	case better == "neither":
		failing.With("the table has no better direction: use highest or lowest")
	case (better == "higher") == (extreme == "best"):
		return ">"
	}
	return "<"
}

// others are the environments that a row has figures of, in the study's order.
func (s *Study) others(among []string, row Row, but string) []string {
	var list []string
	for _, e := range s.Environments {
		cell, there := row.Cells[e.ID]
		if e.ID != but && (slices.Contains(among, e.ID) || len(among) == 0 && there && !cell.Empty) {
			list = append(list, e.ID)
		}
	}
	for _, a := range among {
		if s.Environment(a) == nil {
			list = append(list, a) // is reported as a figure that is not there
		}
	}
	return list
}

// trend checks how figures change from row to row.
func (s *Study) trend(c *Check) (findings []Finding) {
	kinds := map[string]string{"rising": "<", "falling": ">", "not-falling": "<=", "not-rising": ">=", "peak": ">", "trough": "<"}
	relation, ok := kinds[c.Trend]
	if !ok {
		unknown("trend", c.Trend, slices.Sorted(maps.Keys(kinds)))
	}
	turns := c.Trend == "peak" || c.Trend == "trough"
	for _, of := range s.all(c) {
		f := comparison{Finding: Finding{Outcome: Holds, Where: of.sheet.place + ", " + of.sheet.title, Claimed: s.Name(of.Environment) + " " + c.Trend}}
		whole := of
		if turns {
			if len(of.At) == 0 || len(of.rows) != 1 {
				failing.With("%s needs one row: `at: {clients: 10}`", c.Trend)
			}
			f.Claimed += " at " + of.At.String()
			whole.rows, whole.At = of.sheet.rows, nil
		}
		points := whole.points()
		turn := -1
		if turns {
			turn = slices.IndexFunc(points, func(p point) bool { return p.row.At.String() == of.rows[0].At.String() })
		}
		if len(points) < 2 || turns && turn < 0 {
			for _, row := range whole.rows {
				if _, err := whole.figure(row); err != nil && s.again != nil {
					failing.With("%w", err)
				}
			}
			failing.With("a trend of %q needs values in at least two rows", of.Environment)
		}
		for i, b := range points {
			before := i - 1
			if turns {
				before = turn
			}
			if before >= 0 && before != i {
				a := points[before]
				outcome, what := s.related(of, a.row, a.figure, relation, of, b.row, b.figure)
				said := fmt.Sprintf("%s at %s, %s at %s", a.text, a.row.At, b.text, b.row.At)
				if s.again != nil {
					said += ": " + what
				}
				f.add(outcome, said)
			}
		}
		first, last := points[0], points[len(points)-1]
		if s.again != nil {
			findings = append(findings, f.finding())
			continue
		}
		f.shown = []string{fmt.Sprintf("%s %s at %s to %s at %s", s.Name(of.Environment), first.text, first.row.At, last.text, last.row.At)}
		findings = append(findings, f.finding())
	}
	return findings
}
