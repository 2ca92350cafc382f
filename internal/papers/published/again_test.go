package published

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// elsewhere is what was measured in a test: the values of environments, and how far the
// interval of any ratio reaches.
type elsewhere struct {
	values map[string]float64 // by table, level and environment
	width  float64
}

func (e elsewhere) Margin() float64 { return .02 }

func (e elsewhere) value(at Spot) (float64, error) {
	v, known := e.values[strings.TrimSpace(at.Table.ID+" "+at.At.String())+" "+at.Environment]
	if !known {
		return 0, errors.New(at.Environment + " was not measured")
	}
	return v, nil
}

func (e elsewhere) Figure(at Spot) (string, error) {
	v, err := e.value(at)
	return fmt.Sprint(v), err
}

func (e elsewhere) Ratio(of, to Spot) (Measured, error) {
	a, err := e.value(of)
	b, err2 := e.value(to)
	return Measured{a / b / (1 + e.width), a / b, a / b * (1 + e.width), fmt.Sprintf("%.2f", a/b)}, errors.Join(err, err2)
}

func TestAClaimIsJudgedByWhatWasMeasuredElsewhere(t *testing.T) {
	here := elsewhere{width: .05, values: map[string]float64{
		"rate a": 50, "rate b": 30, "coarse a": 1, "coarse b": 1.01,
		"time n 1 a": 1, "time n 1 b": 3, "time n 10 a": 2, "time n 10 b": 1.5,
	}}
	for name, c := range map[string]struct {
		check   string
		outcome Outcome
		says    string
	}{
		"a change of another size in the same direction": {"{ratio: -19%, table: rate, of: b, to: a}", HoldsHere, "the size differs"},
		"a change of that size":                          {"{ratio: -40%, table: rate, of: b, to: a}", HoldsHere, ""},
		"a change in the other direction":                {"{ratio: +19%, table: rate, of: b, to: a}", FailsHere, ""},
		"a change of which half is excluded":             {"{ratio: -60%, table: coarse, of: b, to: a}", FailsHere, "excludes half"},
		"some levels were measured":                      {"{order: a < b, table: time}", FailsHere, "2 of 3 levels were measured"},
		"a bound that is kept":                           {"{ratio: -30%, wording: at least, table: rate, of: b, to: a}", HoldsHere, ""},
		"a bound that is not":                            {"{ratio: -50%, wording: at least, table: rate, of: b, to: a}", FailsHere, ""},
		"a bound within the interval":                    {"{ratio: 0.6x, wording: more than, table: rate, of: b, to: a}", Undecided, ""},
		"a change where the interval holds none":         {"{ratio: +6%, table: coarse, of: b, to: a}", Undecided, ""},
		"no change, too wide to say":                     {"{order: a = b, table: coarse}", Undecided, ""},
		"an order":                                       {"{order: b < a, table: rate}", HoldsHere, "0.60"},
		"the best of what was measured is not":           {"{extreme: best, table: rate, of: b}", FailsHere, ""},
		"the best, but one was not measured":             {"{extreme: best, table: rate, of: a}", CannotBeAsked, "c was not measured"},
		"the best among those that were":                 {"{extreme: best, table: rate, of: a, among: [b]}", HoldsHere, ""},
		"not in every row":                               {"{order: a < b, table: time}", FailsHere, ""},
		"down the rows":                                  {"{trend: rising, table: time, of: a}", HoldsHere, ""},
		"not down the rows":                              {"{trend: rising, table: time, of: b}", FailsHere, ""},
		"a difference has a direction":                   {"{difference: -19, table: rate, of: b, to: a}", HoldsHere, ""},
		"no difference, too wide to say":                 {"{difference: 0, table: coarse, of: b, to: a}", Undecided, ""},
		"a bound of a difference":                        {"{difference: -1, wording: at most, table: rate, of: b, to: a}", CannotBeAsked, "it bounds a difference"},
		"a figure":                                       {"{value: 81, table: rate, of: b}", CannotBeAsked, "it is a figure of the source's machine"},
		"a score":                                        {"{value: 2, score: s-rate, of: b}", CannotBeAsked, "it is about the scores"},
		"a spread":                                       {"{order: a < b, table: rate, statistic: sd}", CannotBeAsked, "spread"},
		"nothing printed decides":                        {"{unchecked: no figure is printed}", CannotBeAsked, "no figure is printed"},
		"nothing printed decides, but a repeat does":     {"{unchecked: only a picture, ratio: -40%, table: rate, of: b, to: a}", HoldsHere, ""},
		"one that was not measured":                      {"{ratio: -60%, table: rate, of: c, to: a}", CannotBeAsked, "c was not measured"},
		"one of two was not, the other does not hold":    {"{ratio: +10%, table: rate, of: [c, b], to: a}", FailsHere, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("small.yaml", []byte(small+"  - {id: x, place: p, says: it is so, check: "+c.check+"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			got := s.Replicate(here)[0]
			if text := fmt.Sprintf("%+v", got.Findings); got.Outcome != c.outcome || !strings.Contains(text, c.says) {
				t.Errorf("%s: %s", got.Outcome, text)
			}
			if before := s.Recompute().Claims[0]; before.Outcome == HoldsHere {
				t.Error("the printed figures are judged like measured ones")
			}
		})
	}
}

func TestAMoreExactFigureTurnsNoVerdictRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratio := math.Exp(rapid.Float64Range(-.5, .5).Draw(t, "log ratio"))
		width := rapid.Float64Range(0, .3).Draw(t, "width")
		relation := rapid.SampledFrom(relations).Draw(t, "relation")
		wide := Measured{ratio / (1 + width), ratio, ratio * (1 + width), ""}.is(relation, .02)
		exact := Measured{ratio, ratio, ratio, ""}.is(relation, .02)
		if wide != Undecided && wide != exact {
			t.Errorf("%v %s 1: %s, and %s within %v", ratio, relation, exact, wide, width)
		}
	})
}

// asPrinted has measured what the source prints.
type asPrinted struct{}

func (asPrinted) Margin() float64 { return 1e-9 }

func (asPrinted) cell(at Spot) (Cell, error) {
	for _, row := range at.Table.rows() {
		if c, there := row.Cells[at.Environment]; there && !c.Empty && row.At.String() == at.At.String() {
			return c, nil
		}
	}
	return Cell{}, errors.New("nothing is printed")
}

func (p asPrinted) Figure(at Spot) (string, error) {
	c, err := p.cell(at)
	return c.Value.text, err
}

func (p asPrinted) Ratio(of, to Spot) (Measured, error) {
	a, err := p.cell(of)
	b, err2 := p.cell(to)
	ratio := a.Value.value / b.Value.value
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		err = errors.New("there is no ratio")
	}
	return Measured{ratio, ratio, ratio, fmt.Sprint(ratio)}, errors.Join(err, err2)
}

func TestWhoMeasuresWhatIsPrintedFindsTheClaimsThatHold(t *testing.T) {
	for _, name := range Names() {
		s, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		printed, asked := s.Recompute().Claims, 0
		for i, c := range s.Replicate(asPrinted{}) {
			switch {
			case c.Outcome == CannotBeAsked:
				if !slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Reason != "" }) {
					t.Errorf("%s, %s: no reason: %+v", name, c.ID, c.Findings)
				}
				continue
			case printed[i].Outcome == Holds && c.Outcome != HoldsHere:
				t.Errorf("%s, %s: %s with the very figures that it is about: %+v", name, c.ID, c.Outcome, c.Findings)
			}
			asked++
		}
		t.Logf("%s: %d of %d claims can be asked of figures", name, asked, len(printed))
		if asked == 0 {
			t.Errorf("%s: no claim is asked", name)
		}
	}
}
