package published

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/strictyaml"
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

// order is a chain of environments with relations between them.
func (s *Study) order(c *Check) ([]Finding, error) {
	words := strings.Fields(c.Order)
	if len(words) < 3 || len(words)%2 == 0 {
		return nil, fmt.Errorf("expected an order such as docker < gvisor < kvm, found %q", c.Order)
	}
	var chain []located
	for i, word := range words {
		if i%2 == 1 {
			if !slices.Contains(relations, word) {
				return nil, fmt.Errorf("%s", strictyaml.Unknown("relation", word, relations))
			}
			continue
		}
		l, err := s.locate(c, Operand{Environment: word})
		if err != nil {
			return nil, err
		}
		chain = append(chain, l)
	}
	var findings []Finding
	for _, row := range chain[0].rows {
		finding, err := s.chained(chain, words, row)
		if err != nil {
			if len(c.At) > 0 || len(chain[0].rows) == 1 {
				return nil, err
			}
			continue
		}
		findings = append(findings, finding)
	}
	if len(findings) == 0 {
		return nil, fmt.Errorf("no row of %s has the values of all of %s", chain[0].sheet.place, c.Order)
	}
	return findings, nil
}

func (s *Study) chained(chain []located, words []string, row Row) (Finding, error) {
	f := Finding{Outcome: Holds, Where: chain[0].where(row), Claimed: s.named(words)}
	var shown, against []string
	var before figure
	for i, l := range chain {
		now, err := l.figure(row)
		if err != nil {
			return f, err
		}
		shown = append(shown, l.shown(s, now))
		if i > 0 {
			outcome := related(before.span, words[2*i-1], now.span)
			f.Outcome = worse(f.Outcome, outcome)
			if outcome != Holds {
				against = append(against, s.gap(chain[i-1], before, l, now))
			}
		}
		before = now
	}
	f.Figures, f.Off = strings.Join(shown, ", "), strings.Join(against, "; ")
	return f, nil
}

// named puts the study's names in place of ids.
func (s *Study) named(words []string) string {
	list := slices.Clone(words)
	for i := 0; i < len(list); i += 2 {
		list[i] = s.Name(list[i])
	}
	return strings.Join(list, " ")
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
func (s *Study) extreme(c *Check) ([]Finding, error) {
	list, err := s.all(c)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, of := range list {
		relation, err := direction(c.Extreme, of)
		if err != nil {
			return nil, err
		}
		err = of.each(func(row Row, mine figure) error {
			f := Finding{Outcome: Holds, Where: of.where(row), Claimed: s.Name(of.Environment) + " " + c.Extreme}
			shown := []string{of.shown(s, mine)}
			var against []string
			for _, other := range s.others(c.Among, row, of.Environment) {
				l := of
				l.Environment = other
				theirs, err := l.figure(row)
				if err != nil {
					if len(c.Among) > 0 || l.Statistic == "" {
						return err
					}
					continue
				}
				shown = append(shown, l.shown(s, theirs))
				outcome := related(mine.span, relation, theirs.span)
				f.Outcome = worse(f.Outcome, outcome)
				if outcome != Holds {
					against = append(against, s.gap(of, mine, l, theirs))
				}
			}
			if len(shown) == 1 {
				return fmt.Errorf("%[2]s has nothing to compare %[1]q with", of.Environment, row.where())
			}
			f.Figures, f.Off = strings.Join(shown, ", "), strings.Join(against, "; ")
			findings = append(findings, f)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return findings, nil
}

// direction is the relation that makes a figure the extreme one.
func direction(extreme string, of located) (string, error) {
	better := of.sheet.better
	if of.Statistic == "sd" || of.Statistic == "cv" {
		better = "neither"
	}
	switch {
	case extreme == "highest":
		return ">", nil
	case extreme == "lowest":
		return "<", nil
	case extreme != "best" && extreme != "worst":
		return "", fmt.Errorf("%s", strictyaml.Unknown("extreme", extreme, []string{"best", "worst", "highest", "lowest"}))
	case better == "neither":
		return "", fmt.Errorf("the table has no better direction: use highest or lowest")
	case (better == "higher") == (extreme == "best"):
		return ">", nil
	}
	return "<", nil
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
		if s.environmentByID(a) == nil {
			list = append(list, a) // is reported as a figure that is not there
		}
	}
	return list
}

// trend checks how figures change from row to row.
func (s *Study) trend(c *Check) ([]Finding, error) {
	kinds := map[string]string{"rising": "<", "falling": ">", "not-falling": "<=", "not-rising": ">=", "peak": ">", "trough": "<"}
	relation, ok := kinds[c.Trend]
	if !ok {
		return nil, fmt.Errorf("%s", strictyaml.Unknown("trend", c.Trend, slices.Sorted(maps.Keys(kinds))))
	}
	list, err := s.all(c)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, of := range list {
		f := Finding{Outcome: Holds, Where: of.sheet.place + ", " + of.sheet.title, Claimed: s.Name(of.Environment) + " " + c.Trend}
		var levels []string
		var figures []figure
		top := -1
		whole := of
		if c.Trend == "peak" || c.Trend == "trough" {
			if len(of.At) == 0 || len(of.rows) != 1 {
				return nil, fmt.Errorf("%s needs one row: `at: {clients: 10}`", c.Trend)
			}
			f.Claimed += " at " + of.At.String()
			whole.rows, whole.At = of.sheet.rows, nil
		}
		err := whole.each(func(row Row, fig figure) error {
			if len(whole.rows) != len(of.rows) && row.At.String() == of.rows[0].At.String() {
				top = len(figures)
			}
			levels, figures = append(levels, row.At.String()), append(figures, fig)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(figures) < 2 || top < 0 && (c.Trend == "peak" || c.Trend == "trough") {
			return nil, fmt.Errorf("a trend of %q needs values in at least two rows", of.Environment)
		}
		var against []string
		for i := range figures {
			a, b := i-1, i
			if top >= 0 {
				a = top
			}
			if a == b || a < 0 {
				continue
			}
			outcome := related(figures[a].span, relation, figures[b].span)
			f.Outcome = worse(f.Outcome, outcome)
			if outcome != Holds {
				against = append(against, fmt.Sprintf("%s at %s, %s at %s", figures[a].text, levels[a], figures[b].text, levels[b]))
			}
		}
		f.Off = strings.Join(against, "; ")
		f.Figures = fmt.Sprintf("%s %s at %s to %s at %s", s.Name(of.Environment), figures[0].text, levels[0], figures[len(figures)-1].text, levels[len(levels)-1])
		findings = append(findings, f)
	}
	return findings, nil
}
