package verdict

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/stats"
)

func TestAChangeIsInPerCentAndFromTwiceOnAFactor(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		want  string
	}{
		{1, "0.0%"}, {1.0001, "0.0%"}, {.9999, "0.0%"}, {1.074, "+7.4%"}, {.69, "-31.0%"}, {.029, "-97.1%"}, {1.994, "+99.4%"}, {1.996, "×2.00"}, {2.5, "×2.50"},
		{8.824, "×8.82"}, {9.996, "×10.0"}, {12.34, "×12.3"}, {148.222, "×148"}, {3968, "×3968"}, {0, "-100%"}, {math.Inf(1), "∞"}, {math.NaN(), "n/a"},
	} {
		if got := ChangeOf(c.ratio); got != c.want {
			t.Errorf("a ratio of %v is shown as %q, want %q", c.ratio, got, c.want)
		}
	}
}

func TestAnIntervalHasTheFormOfItsChange(t *testing.T) {
	for want, of := range map[string][3]float64{
		"[-20.0%, +25.0%]": {1, .8, 1.25}, "[×1.10, ×14.0]": {3.93, 1.1048, 14}, "[×0.80, ×67.5]": {5, .8, 67.5}, "[+73.4%, +120.0%]": {1.952, 1.734, 2.2},
		"[+10.0%, ∞]": {1.2, 1.1, math.Inf(1)}, "[-100%, +1900.0%]": {1, 0, 20}, "[×0, ×20.0]": {2, 0, 20}, "unbounded": {1, 0, math.Inf(1)}, "": {1, math.NaN(), 1},
	} {
		if got := EndsText(math.Log(of[0]), math.Log(of[1]), math.Log(of[2])); got != want {
			t.Errorf("the interval of %v from %v to %v is shown as %q, want %q", of[0], of[1], of[2], got, want)
		}
	}
}

// What stands beside a change does not alter its text: neither an interval that reaches
// further, nor the sentence around it.
func TestAValueHasOneFigureInTablesSentencesAndIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Float64Range(math.Ln2, 8).Draw(t, "log ratio")
		wide := rapid.Float64Range(0, 3).Draw(t, "half of the interval")
		c := Contrast{Environment: "a", Baseline: "b", Verdict: Slower, Better: "lower", Estimate: d, Low: d - wide, High: d + wide, IntervalN: 8, Look: 8, Confidence: .95}
		for _, text := range []string{Wording(c), EndsText(d, d, d+wide), endsOf(stats.Interval{Estimate: d, Low: c.Low, High: c.High})} {
			if !strings.Contains(text, Change(d)) {
				t.Fatalf("%s is not in %q", Change(d), text)
			}
		}
	})
}
