package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// One stratum is the rank-sum test, here with the ranks 3, 4 and 5 of five.
func TestOneStratumIsTheRankSumTest(t *testing.T) {
	got := StratifiedP([]Stratum{{[]float64{3, 4, 5}, []float64{1, 2}}})
	if want := 2 * normalCDF(-3/math.Sqrt(3)); math.Abs(got-want) > 1e-12 { // W = 12, mean 9, variance 3
		t.Errorf("%v, want %v", got, want)
	}
}

func TestStrataWithoutBothGroupsSayNothing(t *testing.T) {
	if p := StratifiedP([]Stratum{{[]float64{1, 2}, nil}, {nil, []float64{3}}, {[]float64{1}, []float64{1}}, {}}); p != 1 {
		t.Errorf("%v", p)
	}
}

// The conditions of a stratum cancel, and so does the order of the groups.
func TestAStratumHasItsOwnScale(t *testing.T) {
	values := func(t *rapid.T, name string) []float64 {
		return rapid.SliceOfN(rapid.Map(rapid.IntRange(-9, 9), func(i int) float64 { return float64(i) }), 1, 9).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		strata := []Stratum{{values(t, "a"), values(t, "b")}, {values(t, "c"), values(t, "d")}}
		want := StratifiedP(strata)
		turned := []Stratum{{strata[0].Other, strata[0].One}, {strata[1].Other, strata[1].One}}
		for _, side := range [][]float64{strata[0].One, strata[0].Other} {
			for i := range side {
				side[i] = 100 + 3*side[i]
			}
		}
		if got, back := StratifiedP(strata), StratifiedP(turned); math.Abs(got-want) > 1e-9 || math.Abs(back-want) > 1e-9 {
			t.Fatalf("%v and %v, want %v", got, back, want)
		}
	})
}
