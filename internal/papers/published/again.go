package published

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/failing"
	"tare/internal/base/lists"
)

// Again is what was measured of the printed figures of a study, somewhere else.
type Again interface {
	// Figure is a figure as text, or why there is none.
	Figure(Spot) (string, error)
	// Ratio is what one is relative to another, or why that is not known.
	Ratio(of, to Spot) (Measured, error)
	// Margin is the change that counts as none: 0.02.
	Margin() float64
}

// Spot is where a figure is printed.
type Spot struct {
	Table       *Table
	At          Level
	Environment string
}

// Measured is a ratio with its interval.
type Measured struct {
	Low, Ratio, High float64
	Text             string
}

// anything has measured every figure, all the same.
type anything struct{}

func (anything) Figure(Spot) (string, error)        { return "1", nil }
func (anything) Ratio(Spot, Spot) (Measured, error) { return Measured{1, 1, 1, "1"}, nil }
func (anything) Margin() float64                    { return 0 }

// The outcomes of a claim where its figures were measured again.
const (
	HoldsHere     Outcome = "holds here"
	FailsHere     Outcome = "does not hold here"
	Undecided     Outcome = "undecided"
	CannotBeAsked Outcome = "cannot be asked here"
)

// Replicate judges every claim by figures that were measured again.
//
// A printed size is of the source's machine, so that a ratio holds where its direction
// does, and the finding says whether the size is that too; at least, at most, more and less
// than are held to their bound. Where the direction is open and even half of the size, as a
// logarithm, is excluded, it does not hold. What lies inside the margin is no difference.
// Of several rows or checks all must hold; each interval is that of its figure alone.
func (s *Study) Replicate(again Again) (all []ClaimResult) {
	here := *s
	here.again = again
	for i := range s.Claims {
		c := ClaimResult{Claim: &s.Claims[i], Outcome: HoldsHere}
		for j := range c.Checks {
			for _, f := range here.judge(&c.Checks[j]) {
				c.Findings = append(c.Findings, f)
				c.Outcome = worse(c.Outcome, f.Outcome)
			}
		}
		all = append(all, c)
	}
	return all
}

// judge gives the findings about one check, about each of its operands by itself.
func (s *Study) judge(c *Check) (findings []Finding) {
	for i := range max(1, len(c.Of)) {
		one := *c
		if len(c.Of) > 0 {
			one.Of = c.Of[i : i+1]
		}
		levels := s.levels(&one)
		for _, f := range s.judgeOne(&one) {
			if f.Outcome != CannotBeAsked {
				f.Reason = levels
			}
			switch {
			case f.Outcome == Holds:
				f.Outcome = HoldsHere
			case f.Outcome == CannotBeAsked && f.Reason == "":
				f.Reason, f.Off = f.Off, ""
			}
			if f.Found == "" {
				f.Found, f.Off = f.Off, ""
			}
			findings = append(findings, f)
		}
	}
	return findings
}

// levels says how many of the rows that a check is about were measured; "" where all were.
func (s *Study) levels(c *Check) string {
	t := s.tableByID(c.Table)
	if t == nil || len(t.Rows) < 2 || len(c.At) > 0 || len(c.Of) > 0 && len(c.Of[0].At) > 0 {
		return ""
	}
	measured := len(lists.Filter(t.Rows, func(row Row) bool {
		return slices.ContainsFunc(s.ids(), func(e string) bool {
			_, err := s.again.Figure(Spot{t, row.At, e})
			return err == nil
		})
	}))
	if measured == len(t.Rows) {
		return ""
	}
	return fmt.Sprintf("%d of %d levels were measured", measured, len(t.Rows))
}

func (s *Study) judgeOne(c *Check) (findings []Finding) {
	reason := ""
	switch kind := c.kinds()[0]; {
	case kind == "unchecked":
		reason = c.Unchecked
	case kind == "agree" || kind == "total":
		reason = "it is about the printed figures alone"
	case c.Score != "" || slices.ContainsFunc(c.operands(), func(o Operand) bool { return o.Score != "" }):
		reason = "it is about the scores of the source"
	case kind == "value":
		reason = "it is a figure of the source's machine"
	case kind == "difference" && c.atMost():
		reason = "it bounds a difference in the unit of the source's machine"
	case slices.ContainsFunc(append(c.operands(), Operand{Statistic: c.Statistic}), func(o Operand) bool { return o.Statistic == "sd" || o.Statistic == "cv" }):
		reason = "it is about how the source's own repeats spread"
	}
	if reason == "" {
		err := failing.Caught(func() { findings = s.findings(c) })
		if err == nil {
			return findings
		}
		reason = err.Error()
	}
	f := Finding{Outcome: CannotBeAsked, Reason: reason}
	if printed, err := s.printed().evaluate(c); err == nil && len(printed) > 0 {
		f.Where, f.Claimed = printed[0].Where, printed[0].Claimed
	}
	if c.Value != nil && c.Score == "" { // a figure can be shown, if not judged
		_ = failing.Caught(func() { f.Found = s.all(c)[0].points()[0].text })
	}
	return []Finding{f}
}

// printed is the study with the figures that it prints.
func (s *Study) printed() *Study {
	printed := *s
	printed.again = nil
	return &printed
}

// atMost says whether a claimed size is a bound that no difference at all keeps as well.
func (c *Check) atMost() bool {
	w := c.wording()
	return strings.HasSuffix(w, "at most") || w == "less than"
}

func (c *Check) operands() []Operand {
	all := slices.Concat(c.Of, c.Over)
	if c.To != nil {
		all = append(all, *c.To)
	}
	return all
}

func (l located) spot(row Row) Spot { return Spot{l.sheet.table, row.At, l.Environment} }

// comparedAgain judges a claimed ratio or difference by what was measured.
func (s *Study) comparedAgain(c *Check, t target, claimed string, of located, a point, to located, other Row, b figure) Finding {
	f := Finding{Where: of.where(a.row), Claimed: claimed, Figures: of.shown(s, a.figure) + ", " + to.shown(s, b)}
	if len(other.At) > 0 && other.At.String() != a.row.At.String() {
		f.Figures += " at " + other.At.String()
	}
	m, err := s.again.Ratio(of.spot(a.row), to.spot(other))
	if err != nil {
		f.Outcome, f.Reason = CannotBeAsked, err.Error()
		return f
	}
	f.Found = m.Text
	if c.Ratio == "" { // the size of a difference is the source's, its sign is not
		f.Outcome = m.is(signOf(c.Difference.value), s.again.Margin())
		return f
	}
	scale := func(bound float64) float64 { return bound }
	if r := failing.Must(parseRelative(c.Ratio)); !r.times {
		scale = func(bound float64) float64 { return 1 + bound/100 }
	}
	low, high := scale(t.low), scale(t.high)
	inside, apart := m.Low >= low && m.High <= high, m.High < low || m.Low > high
	if math.IsInf(t.low, 0) || math.IsInf(t.high, 0) {
		switch {
		case inside:
			f.Outcome = HoldsHere
		case apart:
			f.Outcome = FailsHere
		default:
			f.Outcome = Undecided
		}
		return f
	}
	middle := (scale(t.from) + scale(t.to)) / 2
	relation := "="
	if margin := s.again.Margin(); middle > 1+margin {
		relation = ">"
	} else if middle < 1/(1+margin) {
		relation = "<"
	}
	f.Outcome = m.is(relation, s.again.Margin())
	switch half := math.Sqrt(middle); {
	case f.Outcome == HoldsHere && apart:
		f.Off = "the size differs"
	case f.Outcome == Undecided && (relation == "<" && m.Low > half || relation == ">" && m.High < half):
		f.Outcome, f.Off = FailsHere, "the interval includes zero and excludes half of the claimed change"
	}
	return f
}

// signOf is the relation of two figures with such a difference.
func signOf(difference float64) string {
	switch {
	case difference > 0:
		return ">"
	case difference < 0:
		return "<"
	}
	return "="
}

// relatedAgain judges a relation between two figures by what was measured.
func (s *Study) relatedAgain(a Spot, relation string, b Spot) (Outcome, string) {
	m, err := s.again.Ratio(a, b)
	if err != nil {
		return CannotBeAsked, err.Error()
	}
	what := m.Text
	if a.Environment != b.Environment {
		what = fmt.Sprintf("%s %s against %s", s.Name(a.Environment), m.Text, s.Name(b.Environment))
	}
	return m.is(relation, s.again.Margin()), what
}

// is says whether a ratio is a relation, where a change inside the margin is none.
func (m Measured) is(relation string, margin float64) Outcome {
	below, above := 1/(1+margin), 1+margin
	holds, fails := false, false
	switch relation {
	case "<":
		holds, fails = m.High < 1 && m.Ratio < below, m.Low > below
	case "<=":
		holds, fails = m.High < above, m.Low > above
	case ">", ">=":
		return Measured{1 / m.High, 1 / m.Ratio, 1 / m.Low, m.Text}.is(map[string]string{">": "<", ">=": "<="}[relation], margin)
	case "=":
		holds, fails = m.Low > below && m.High < above, m.Low > above || m.High < below
	}
	switch {
	case holds:
		return HoldsHere
	case fails:
		return FailsHere
	}
	return Undecided
}

// Summed counts claims by their outcomes.
func Summed(claims []ClaimResult) string {
	var parts []string
	for _, o := range []Outcome{HoldsHere, FailsHere, Undecided, CannotBeAsked} {
		words := string(o)
		n := len(lists.Filter(claims, func(c ClaimResult) bool { return c.Outcome == o }))
		if n > 1 {
			words = strings.NewReplacer("holds", "hold", "does", "do").Replace(words)
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words))
		}
	}
	return fmt.Sprintf("%d claims: %s", len(claims), strings.Join(parts, ", "))
}
