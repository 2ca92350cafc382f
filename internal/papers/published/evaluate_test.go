package published

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const small = `study: small
source: {title: T, kind: report}
baseline: a
environments:
  - {id: a, name: A, kind: native}
  - {id: b, name: B, kind: docker}
  - {id: c, name: C}
tables:
  - id: rate
    place: Table 1
    metric: rate
    unit: op/s
    better: higher
    cells: {a: 100.0 ± 2.0, b: 81.0 ± 8.1, c: 40.0}
  - id: time
    place: Table 2
    metric: time
    unit: s
    better: lower
    rows:
      - {at: {n: 1}, cells: {a: 1.0, b: 1.1}}
      - {at: {n: 10}, cells: {a: 2.0, b: 2.6}}
      - {at: {n: 100}, cells: {a: 4.0, b: 4.0, c: none}}
  - id: coarse
    place: Table 3
    metric: jitter
    unit: ms
    better: lower
    cells: {a: 0.033, b: 0.025, c: 0.033}
  - id: mean
    place: Table 2, last row
    metric: time, mean
    unit: s
    better: lower
    cells: {a: 2.33, b: 2.6}
scores:
  place: Table 4
  baseline: a
  groups:
    - id: all
      name: all features
      place: Table 5
      sums: {b: 4, c: 0}
      features:
        - {id: s-rate, name: Rate, table: rate, at_least: [60%, 80%], scores: {b: 2, c: 0}}
        - {id: s-coarse, name: Jitter, table: coarse, at_most: [90%, 75%], scores: {b: 2, c: 0}}
claims:
`

func claimed(t *testing.T, check string) ClaimResult {
	t.Helper()
	s, err := Parse("small.yaml", []byte(small+"  - {id: x, place: section 1, says: something, check: "+check+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s.Recompute().Claims[0]
}

func TestAClaimHoldsFailsOrIsOpenWithinRounding(t *testing.T) {
	for _, test := range []struct {
		check string
		want  Outcome
	}{
		{"{ratio: -19%, table: rate, of: b, to: a}", Holds},
		{"{ratio: -20%, table: rate, of: b, to: a}", Fails},
		{"{ratio: -20%, wording: about, table: rate, of: b, to: a}", Holds},
		{"{ratio: -60%, table: rate, of: [b, c], to: a}", Fails}, // both must
		{"{ratio: 2.5x, table: rate, of: a, to: c}", Holds},
		{"{ratio: 2.6x, table: rate, of: a, to: c}", Fails},
		{"{ratio: 3x, wording: almost, table: rate, of: a, to: c}", Holds}, // rounds to it
		{"{ratio: 4x, wording: almost, table: rate, of: a, to: c}", Fails},
		{"{ratio: -15%, wording: more than, table: rate, of: b, to: a}", Holds},
		{"{ratio: -19%, wording: more than, table: rate, of: b, to: a}", WithinRounding},
		{"{ratio: -20%, wording: less than, table: rate, of: b, to: a}", Holds},
		{"{ratio: -15%, wording: less than, table: rate, of: b, to: a}", Fails},
		{"{ratio: -20%, wording: at most, table: rate, of: b, to: a}", Holds},
		{"{ratio: -20%, wording: at least, table: rate, of: b, to: a}", Fails},
		{"{ratio: -20%, wording: about at least, table: rate, of: b, to: a}", Holds},
		{"{ratio: -26%, table: coarse, of: b, to: a}", WithinRounding},
		{"{ratio: -30%, table: coarse, of: b, to: a}", Fails},
		{"{ratio: +0%..+30%, table: time, of: b, to: a}", Holds},                  // every row
		{"{ratio: +0%..+20%, table: time, of: b, to: a}", Fails},                  // one is above
		{"{ratio: +30%, wording: up to, table: time, of: b, to: a}", Holds},       // one reaches it
		{"{ratio: +50%, wording: up to, table: time, of: b, to: a}", Fails},       // none reaches it
		{"{ratio: +33%, wording: about up to, table: time, of: b, to: a}", Holds}, //
		{"{ratio: 2x, table: time, of: {environment: a, at: {n: 10}}, to: {at: {n: 1}}}", Holds},
		{"{ratio: 5x, statistic: sd, wording: at most, table: rate, of: b, to: a}", Holds},
		{"{ratio: 5x, statistic: cv, table: rate, of: b, to: a}", Holds},

		{"{difference: -19, table: rate, of: b, to: a}", Holds},
		{"{difference: -20, table: rate, of: b, to: a}", Fails},
		{"{difference: 4, score: all, of: b, to: c}", Holds},

		{"{value: 81, table: rate, of: b}", Holds},
		{"{value: 82, table: rate, of: b}", Fails},
		{"{value: 81.04, table: rate, of: b}", Holds}, // more digits than the table
		{"{value: 81.06, table: rate, of: b}", Fails},
		{"{value: 80, wording: about, table: rate, of: b}", Holds},
		{"{value: 8.1, statistic: sd, table: rate, of: b}", Holds},
		{"{value: 2, score: s-rate, of: b}", Holds},

		{"{order: c < b < a, table: rate}", Holds},
		{"{order: a > b > c, table: rate}", Holds},
		{"{order: b > a, table: rate}", Fails},
		{"{order: a <= b, table: time}", Holds},
		{"{order: a < b, table: time}", WithinRounding}, // printed alike in the last row
		{"{order: a = c, table: coarse}", Holds},
		{"{order: b = c, score: all}", Fails},

		{"{extreme: best, table: rate, of: a}", Holds},
		{"{extreme: best, table: rate, of: b}", Fails},
		{"{extreme: best, table: rate, of: b, among: [c]}", Holds},
		{"{extreme: worst, table: time, of: b, at: {n: 10}}", Holds},
		{"{extreme: best, table: coarse, of: b}", Holds},
		{"{extreme: highest, table: coarse, of: a}", WithinRounding}, // a tie of printed figures

		{"{trend: rising, table: time, of: [a, b]}", Holds},
		{"{trend: falling, table: time, of: a}", Fails},
		{"{trend: peak, table: time, of: a, at: {n: 100}}", Holds},
		{"{trend: peak, table: time, of: a, at: {n: 10}}", Fails},
		{"{trend: trough, table: time, of: a, at: {n: 1}}", Holds},

		{"{total: mean, table: mean, of: a, over: {table: time}}", Holds},
		{"{total: mean, table: mean, of: b, over: {table: time}}", Holds}, // 2.567
		{"{total: sum, is: 7, table: time, of: a, over: {table: time}}", Holds},
		{"{total: sum, is: 9, table: time, of: a, over: {table: time}}", Fails},
		{"{total: most, is: 4, table: time, of: a, over: {table: time}}", Holds},
		{"{total: least, is: 1, table: time, of: a, over: {table: time}}", Holds},

		{"{agree: [{place: p, says: 0.69}, {place: q, says: 0.67}]}", Fails},
		{"{agree: [{place: p, says: 0.7}, {place: q, says: 0.67}]}", Holds},
		{"{agree: [{place: p, says: lower}, {place: q, says: Lower}]}", Holds},
		{"{unchecked: only a picture}", NotChecked},
		{"{unchecked: only a picture, ratio: -19%, table: rate, of: b, to: a}", NotChecked},
		{"[{value: 81, table: rate, of: b}, {value: 82, table: rate, of: b}]", Fails}, // all must
	} {
		got := claimed(t, test.check)
		if got.Outcome != test.want {
			t.Errorf("%s: %s, want %s\n%+v", test.check, got.Outcome, test.want, got.Findings)
		}
	}
}

func TestAFailingClaimSaysByHowMuch(t *testing.T) {
	f := claimed(t, "{ratio: -25%, table: rate, of: b, to: a}").Findings[0]
	if f.Found != "-19.0%" || f.Off != "6.0 points" || f.Figures != "B 81.0, A 100.0" || f.Where != "Table 1, rate" {
		t.Errorf("%+v", f)
	}
	f = claimed(t, "{extreme: best, table: rate, of: c}").Findings[0]
	if f.Off != "A is 150.0% above C; B is 102.5% above C" {
		t.Errorf("%+v", f)
	}
}

func TestClaimsAboutScoresAreCheckedAgainstRecomputedScores(t *testing.T) {
	text := strings.Replace(small, "scores: {b: 2, c: 0}}\n        - {id: s-coarse", "scores: {b: 1, c: 0}}\n        - {id: s-coarse", 1) +
		"  - {id: x, place: section 1, says: something, check: {value: 1, score: s-rate, of: b}}\n"
	s, err := Parse("small.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Recompute()
	c := r.Claims[0]
	if c.Outcome != Holds || c.Rescored == nil || c.Rescored.Outcome != Fails {
		t.Errorf("%+v", c)
	}
	cell := r.Scored.Groups[0].Features[0].Scores[0]
	if cell.Outcome != Fails || cell.Recomputed != 2 {
		t.Errorf("%+v", cell)
	}
	// 75.8% misses the second threshold, and 75% is what rounding allows.
	jitter := r.Scored.Groups[0].Features[1].Scores[0]
	if jitter.Outcome != WithinRounding || jitter.Recomputed != 1 || jitter.Most != 2 {
		t.Errorf("%+v", jitter)
	}
	sum := r.Scored.Groups[0].Sums[0]
	if sum.Outcome != Fails || sum.OfPrinted != 3 {
		t.Errorf("%+v", sum)
	}
}

func TestErrorsHaveTheirPosition(t *testing.T) {
	for _, test := range []struct{ check, want string }{
		{"{ratio: -19%, table: rat, of: b, to: a}", `unknown table "rat"; did you mean "rate"`},
		{"{ratio: -19, table: rate, of: b, to: a}", "expected a change (-19%), a multiple (3x) or a range"},
		{"{ratio: -19%, table: rate, of: z, to: a}", `unknown environment "z"`},
		{"{ratio: -19%, table: rate, of: b}", "add `to:`"},
		{"{ratio: -19%, table: time, at: {n: 7}, of: b, to: a}", "there is no row at n 7"},
		{"{ratio: -19%, wording: nearly, table: rate, of: b, to: a}", `unknown wording "nearly"`},
		{"{value: 1, table: rate, statistic: sd, of: c}", "has no standard deviation"},
		{"{value: 1, order: a > b, table: rate, of: c}", "exactly one kind"},
		{"{order: a b, table: rate}", "expected an order such as"},
		{"{extreme: greatest, table: rate, of: a}", `unknown extreme "greatest"`},
		{"{trend: peak, table: time, of: a}", "needs one row"},
		{"{total: mean, table: mean, of: a}", "add `over:`"},
		{"{unchecked: only a picture, ratio: -19%, table: rate, of: z, to: a}", `unknown environment "z"`},
		{"{unchecked: only a picture, value: 1, order: a > b, table: rate, of: c}", "exactly one kind"},
		{"{rate: 1}", `unknown key "rate"`},
	} {
		_, err := Parse("small.yaml", []byte(small+"  - {id: x, place: section 1, says: something, check: "+test.check+"}\n"))
		line := fmt.Sprintf("small.yaml:%d:", strings.Count(small, "\n")+1)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), line) {
			t.Errorf("%s: %v, want %s... %s", test.check, err, line, test.want)
		}
	}
	for _, test := range []struct{ from, to, want string }{
		{"b: 81.0 ± 8.1", "b: \"81,0\"", "expected a number as printed"},
		{"c: 40.0}", "d: 40.0}", `unknown environment "d"`},
		{"better: higher", "better: more", "expected better: higher, lower or neither"},
		{"id: time", "id: rate", `duplicate table "rate"`},
		{"table: coarse, at_most", "table: time, at_most", "needs a table without levels"},
	} {
		_, err := Parse("small.yaml", []byte(strings.Replace(small, test.from, test.to, 1)+"  - {id: x, place: p, says: s, check: {unchecked: w}}\n"))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.to, err, test.want)
		}
	}
}

func TestPrintedPercentagesAreRecomputed(t *testing.T) {
	text := strings.Replace(small, "cells: {a: 100.0 ± 2.0, b: 81.0 ± 8.1, c: 40.0}",
		"cells: {a: 100.0, b: 81.0, c: 40.0}\n    changes: {over: a, cells: {b: -19%, c: -50%}}", 1)
	s, err := Parse("small.yaml", []byte(text+"  - {id: x, place: p, says: s, check: {unchecked: w}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	found := s.Recompute().Arithmetic
	if len(found) != 2 || found[0].Outcome != Holds || found[1].Outcome != Fails || found[1].Off != "10.0 points" {
		t.Errorf("%+v", found)
	}
}

func TestClaimsRoundedFromTrueValuesNeverFail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(.5, 1e4).Draw(t, "a"), rapid.Float64Range(.5, 1e4).Draw(t, "b")
		decimals := rapid.IntRange(1, 3).Draw(t, "decimals")
		print := func(x float64) Number { n, _ := parseNumber(fmt.Sprintf("%.*f", decimals, x)); return n }
		found, ok := print(a).span().over(print(b).span())
		if !ok {
			return
		}
		change := fmt.Sprintf("%+.0f%%", 100*a/b-100)
		r, err := parseRelative(change)
		if err != nil {
			t.Fatal(err)
		}
		if outcome, _ := r.aim("exactly").judge(found.change()); outcome == Fails {
			t.Fatalf("%v over %v is %s, and for the rounded figures it fails: %+v", a, b, change, found.change())
		}
		if related(print(a).span(), "<", print(b).span()) == Fails && a < b && math.Abs(a-b) > 1e-6 {
			t.Fatalf("%v < %v fails for the rounded figures", a, b)
		}
	})
}

func TestRatiosAreThoseOfThePrintedFigures(t *testing.T) {
	s, err := Parse("small.yaml", []byte(small+"  - {id: x, place: p, says: s, check: {unchecked: w}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	list := s.Ratios()
	// rate: b, c; time: b three times; coarse: b, c; mean: b.
	if len(list) != 8 || list[0].Environment.ID != "b" || list[0].Value != .81 || list[0].Low >= .81 || list[0].High <= .81 || list[3].Level["n"] != "10" {
		t.Errorf("%+v", list)
	}
	if s.RatiosOver("nobody") != nil {
		t.Error("ratios over an environment that is not there")
	}
}
