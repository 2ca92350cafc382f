package published

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/failing"
	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

// Finding is the comparison of one figure with one claim.
type Finding struct {
	Outcome Outcome `json:"outcome"`
	Where   string  `json:"where,omitempty"`   // the table's place, and the row
	Figures string  `json:"figures,omitempty"` // what is printed there
	Claimed string  `json:"claimed,omitempty"`
	Found   string  `json:"found,omitempty"`  // recomputed
	Bounds  string  `json:"bounds,omitempty"` // its range for figures that round to the printed ones
	Off     string  `json:"off,omitempty"`    // the distance from the claimed one
	Reason  string  `json:"reason,omitempty"` // why nothing can be checked

	copied bool // Found is printed as it is, not recomputed
}

var kindNames = []string{"ratio", "difference", "value", "order", "extreme", "trend", "total", "agree", "unchecked"}

// kinds are the kinds that a check names: one, and perhaps unchecked.
func (c *Check) kinds() []string {
	given := []bool{c.Ratio != "", c.Difference != nil, c.Value != nil, c.Order != "", c.Extreme != "", c.Trend != "", c.Total != "", len(c.Agree) > 0, c.Unchecked != ""}
	var kinds []string
	for i, name := range kindNames {
		if given[i] {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

// unknown refuses a word that is not one of the known ones.
func unknown(what, word string, known []string) {
	failing.With("%s", strictyaml.Unknown(what, word, known))
}

// evaluate recomputes a check. An error means that the check refers to figures that
// do not exist, or is invalid.
func (s *Study) evaluate(c *Check) (findings []Finding, err error) {
	err = failing.Caught(func() { findings = s.findings(c) })
	return findings, err
}

func (s *Study) findings(c *Check) []Finding {
	if !slices.Contains(wordings, c.wording()) {
		unknown("wording", c.Wording, wordings)
	}
	if s.again == nil && c.Unchecked != "" {
		return []Finding{{Outcome: NotChecked, Reason: c.Unchecked}}
	}
	switch c.kinds()[0] {
	case "ratio":
		r := failing.Must(parseRelative(c.Ratio))
		return s.compared(c, r.aim(c.wording()), c.worded(c.Ratio), r.of, r.format)
	case "difference":
		minus := func(a, b span) (span, bool) { return a.minus(b), true }
		format := s.units(c, c.Difference)
		return s.compared(c, aim(*c.Difference, c.wording()), c.worded(format(c.Difference.value)), minus, format)
	case "value":
		return s.value(c)
	case "order":
		return s.order(c)
	case "extreme":
		return s.extreme(c)
	case "trend":
		return s.trend(c)
	case "total":
		return s.total(c)
	}
	return agree(c.Agree)
}

func (c *Check) wording() string {
	if c.Wording == "" {
		return "exactly"
	}
	return c.Wording
}

// worded puts the wording before a claimed figure.
func (c *Check) worded(figure string) string {
	if figure == "1 points" {
		figure = "1 point"
	}
	if w := c.wording(); w != "exactly" {
		return w + " " + figure
	}
	return figure
}

// compared evaluates what relates `of` to `to`: ratios and differences.
func (s *Study) compared(c *Check, t target, claimed string, relate func(a, b span) (span, bool), format func(float64) string) (findings []Finding) {
	if c.To == nil {
		failing.With("the reference is missing: add `to:`")
	}
	list, to := s.all(c), s.locate(c, *c.To)
	if to.Environment == "" && len(list) == 1 {
		to.Environment = list[0].Environment
	}
	for _, of := range list {
		var mine []Finding
		var spans []span
		for _, a := range of.points() {
			other := a.row
			if c.To.At != nil || c.To.Table != "" || c.To.Score != "" {
				other = to.matching(a.row, c.To.At != nil)
			}
			b, err := to.figure(other)
			if err != nil && len(of.At) == 0 && len(of.rows) != 1 {
				continue
			}
			failing.Must(b, err)
			if s.again != nil {
				mine = append(mine, s.comparedAgain(c, t, claimed, of, a, to, other, b))
				continue
			}
			found, ok := relate(a.span, b.span)
			if !ok {
				failing.With("%s over %s has no bound", a.text, b.text)
			}
			figures := of.shown(s, a.figure) + ", " + to.shown(s, b)
			if len(other.At) > 0 && other.At.String() != a.row.At.String() {
				figures += " at " + other.At.String()
			}
			mine, spans = append(mine, judged(found, t, claimed, of.where(a.row), figures, format)), append(spans, found)
		}
		if len(mine) == 0 {
			failing.With("no row has the values of both %q and %q", of.Environment, to.Environment)
		}
		if strings.HasSuffix(c.wording(), "up to") && s.again == nil {
			mine = farthest(mine, spans, t.from < 0)
		}
		findings = append(findings, mine...)
	}
	return findings
}

// matching is the other operand's row: its own, or that of the same level.
func (l located) matching(row Row, own bool) Row {
	if own && len(l.rows) != 1 {
		failing.With("`to` names %d rows of %s; name one", len(l.rows), l.sheet.place)
	}
	at := 0
	if len(l.rows) != 1 {
		at = slices.IndexFunc(l.rows, func(r Row) bool { return r.At.String() == row.At.String() })
	}
	if at < 0 {
		failing.With("%s has no row at %s", l.sheet.place, row.At)
	}
	return l.rows[at]
}

// judged compares a recomputed figure with the claimed one.
func judged(found span, t target, claimed, where, figures string, format func(float64) string) Finding {
	outcome, off := t.judge(found)
	f := Finding{Outcome: outcome, Where: where, Figures: figures, Claimed: claimed, Found: format(found.mid)}
	if outcome != Holds {
		f.Off = strings.TrimPrefix(strings.Replace(format(math.Abs(off)), "%", " points", 1), "+")
		if low, high := format(found.low), format(found.high); low != high {
			f.Bounds = low + " to " + high
		}
	}
	return f
}

// farthest keeps the row that goes farthest: "up to" is about it.
func farthest(list []Finding, spans []span, down bool) []Finding {
	best := 0
	for i, s := range spans {
		if down && s.mid < spans[best].mid || !down && s.mid > spans[best].mid {
			best = i
		}
	}
	return list[best : best+1]
}

func (r relative) of(a, b span) (span, bool) {
	ratio, ok := a.over(b)
	if !r.times {
		ratio = ratio.change()
	}
	return ratio, ok
}

func (r relative) format(x float64) string {
	if r.times {
		return fmt.Sprintf("%.*fx", r.from.decimals+2, x)
	}
	return fmt.Sprintf("%+.*f%%", r.from.decimals+1, x)
}

// units words differences with the unit of the first operand.
func (s *Study) units(c *Check, claimed *Number) func(float64) string {
	unit := ""
	if len(c.Of) > 0 {
		unit = s.locate(c, c.Of[0]).unitText()
	}
	return func(x float64) string {
		text := fmt.Sprintf("%.*f", claimed.decimals+2, x)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		if unit == " points" && (text == "1" || text == "-1") {
			return text + " point"
		}
		return text + unit
	}
}

// value holds a figure of the text against the table's.
func (s *Study) value(c *Check) []Finding {
	format := s.units(c, c.Value)
	return s.each(c, func(of located, p point) Finding {
		f := judged(p.span, aim(*c.Value, c.wording()), c.worded(c.Value.text+of.unitText()), of.where(p.row), of.shown(s, p.figure), format)
		f.Found, f.Bounds, f.copied = p.text+of.unitText(), "", true
		if c.wording() == "exactly" { // the text may have more digits than the table
			if f.Outcome = Fails; sameFigure(c.Value.text, p.text) {
				f.Outcome, f.Off = Holds, ""
			}
		}
		return f
	})
}

var totals = []string{"sum", "mean", "least", "most"}

// total recomputes a printed sum, mean, least or most from what it is of.
func (s *Study) total(c *Check) []Finding {
	if !slices.Contains(totals, c.Total) {
		unknown("total", c.Total, totals)
	}
	if len(c.Over) == 0 {
		failing.With("the operands of %s are missing: add `over:`", c.Total)
	}
	if c.Is == nil {
		return s.each(c, func(of located, p point) Finding { return s.totalled(c, of, p.row, failing.Must(parseNumber(p.text))) })
	}
	return lists.Map(s.all(c), func(of located) Finding { return s.totalled(c, of, Row{}, *c.Is) })
}

func (s *Study) totalled(c *Check, of located, row Row, claimed Number) Finding {
	parts := s.parts(c, of, row)
	texts := lists.Map(parts, func(p figure) string { return p.text })
	format := s.units(c, &claimed)
	f := judged(combined(c.Total, parts), aim(claimed, c.wording()), claimed.text+of.unitText(), of.where(row), "", format)
	f.Figures = fmt.Sprintf("%s: %s of %s", s.Name(of.Environment), c.Total, strings.Join(texts, ", "))
	return f
}

// parts are the figures below a total: of the same level where their table has
// it, and otherwise of all rows.
func (s *Study) parts(c *Check, of located, row Row) (parts []figure) {
	for _, o := range c.Over {
		o.Environment = cmp.Or(o.Environment, of.Environment)
		own := o.At != nil
		base := *c
		base.At, base.Table, base.Score = nil, of.Table, of.Score
		l := s.locate(&base, o)
		if !own {
			if same := slices.IndexFunc(l.rows, func(r Row) bool { return len(row.At) > 0 && r.At.String() == row.At.String() }); same >= 0 {
				l.rows = l.rows[same : same+1]
			}
		}
		parts = append(parts, lists.Map(l.points(), func(p point) figure { return p.figure })...)
	}
	return parts
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
func agree(printed []Printed) []Finding {
	if len(printed) < 2 {
		failing.With("agree needs at least two places")
	}
	f := Finding{Outcome: Holds}
	var shown []string
	for i, p := range printed {
		if p.Place == "" || p.Says == "" {
			failing.With("each place needs `place` and `says`")
		}
		shown = append(shown, p.Place+": "+p.Says)
		for _, other := range printed[:i] {
			if !sameFigure(p.Says, other.Says) {
				f.Outcome = Fails
			}
		}
	}
	f.Figures = strings.Join(shown, "; ")
	return []Finding{f}
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
