package published

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

var totals = []string{"sum", "mean", "least", "most"}

// total recomputes a printed sum, mean, least or most from what it is of.
func (s *Study) total(c *Check) ([]Finding, error) {
	if !slices.Contains(totals, c.Total) {
		return nil, errors.New(strictyaml.Unknown("total", c.Total, totals))
	}
	if len(c.Over) == 0 {
		return nil, fmt.Errorf("the operands of %s are missing: add `over:`", c.Total)
	}
	if c.Is == nil {
		return s.each(c, func(of located, p point) (Finding, error) {
			claimed, err := parseNumber(p.text)
			if err != nil {
				return Finding{}, err
			}
			return s.totalled(c, of, p.row, claimed)
		})
	}
	list, err := s.all(c)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, of := range list {
		f, err := s.totalled(c, of, Row{}, *c.Is)
		if err != nil {
			return nil, err
		}
		findings = append(findings, f)
	}
	return findings, nil
}

func (s *Study) totalled(c *Check, of located, row Row, claimed Number) (Finding, error) {
	parts, err := s.parts(c, of, row)
	if err != nil {
		return Finding{}, err
	}
	texts := lists.Map(parts, func(p figure) string { return p.text })
	format := s.units(c, &claimed)
	f := judged(combined(c.Total, parts), aim(claimed, c.wording()), claimed.text+of.unitText(), of.where(row), "", format)
	f.Figures = fmt.Sprintf("%s: %s of %s", s.Name(of.Environment), c.Total, strings.Join(texts, ", "))
	return f, nil
}

// parts are the figures below a total: of the same level where their table has
// it, and otherwise of all rows.
func (s *Study) parts(c *Check, of located, row Row) ([]figure, error) {
	var parts []figure
	for _, o := range c.Over {
		if o.Environment == "" {
			o.Environment = of.Environment
		}
		own := o.At != nil
		base := *c
		base.At, base.Table, base.Score = nil, of.Table, of.Score
		l, err := s.locate(&base, o)
		if err != nil {
			return nil, err
		}
		if !own {
			if same := slices.IndexFunc(l.rows, func(r Row) bool { return len(row.At) > 0 && r.At.String() == row.At.String() }); same >= 0 {
				l.rows = l.rows[same : same+1]
			}
		}
		points, err := l.points()
		if err != nil {
			return nil, err
		}
		parts = append(parts, lists.Map(points, func(p point) figure { return p.figure })...)
	}
	return parts, nil
}

func combined(total string, parts []figure) span {
	all := parts[0].span
	for _, p := range parts[1:] {
		switch total {
		case "least":
			all = span{min(all.low, p.low), min(all.mid, p.mid), min(all.high, p.high)}
		case "most":
			all = span{max(all.low, p.low), max(all.mid, p.mid), max(all.high, p.high)}
		default:
			all = all.plus(p.span)
		}
	}
	if total == "mean" {
		all = all.times(1 / float64(len(parts)))
	}
	return all
}

// agree compares what several places print.
func agree(printed []Printed) ([]Finding, error) {
	if len(printed) < 2 {
		return nil, fmt.Errorf("agree needs at least two places")
	}
	f := Finding{Outcome: Holds}
	var shown []string
	for i, p := range printed {
		if p.Place == "" || p.Says == "" {
			return nil, fmt.Errorf("each place needs `place` and `says`")
		}
		shown = append(shown, p.Place+": "+p.Says)
		for _, other := range printed[:i] {
			if !sameFigure(p.Says, other.Says) {
				f.Outcome = Fails
			}
		}
	}
	f.Figures = strings.Join(shown, "; ")
	return []Finding{f}, nil
}

// sameFigure reports whether one rounds to the other, or the texts are equal.
func sameFigure(a, b string) bool {
	x, err := parseNumber(a)
	y, err2 := parseNumber(b)
	if err != nil || err2 != nil {
		return strings.EqualFold(a, b)
	}
	if y.decimals < x.decimals {
		x, y = y, x
	}
	away := y.value - x.value
	return x.percent == y.percent && max(away, -away) <= x.half()+slack*max(1, y.value)
}
