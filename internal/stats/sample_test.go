package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/testing/needs"
)

// The exact probabilities are those of Kendall's table: with ten values, 21
// more rises than falls are reached by chance, in one direction, in 3.6%.
func TestTheTrendTestAgreesWithKendallsTable(t *testing.T) {
	for _, c := range []struct {
		n, inversions int
		want          float64
	}{{4, 0, 2 * .042}, {5, 0, 2 * .0083}, {10, 12, 2 * .036}, {10, 10, 2 * .014}, {10, 22, 1}} {
		if got := kendallExact(c.n, c.inversions); math.Abs(got-c.want) > .0011 {
			t.Errorf("n=%d, %d inversions: %.4f, Kendall's table has %.4f", c.n, c.inversions, got, c.want)
		}
	}
}

func TestASteadyRiseIsATrendAndItsSizeIsThatOfTheWholeRise(t *testing.T) {
	v := []float64{410, 424, 431, 420, 440, 428, 452, 447, 455, 449}
	got := TrendOf(v)
	if got.P > .01 || got.Total < 30 || got.Total > 50 {
		t.Errorf("%+v", got)
	}
	slices.Reverse(v)
	back := TrendOf(v)
	if math.Abs(back.Total+got.Total) > 1e-9 || math.Abs(back.P-got.P) > 1e-12 {
		t.Errorf("backwards %+v, forwards %+v", back, got)
	}
	if flat := TrendOf([]float64{3, 3, 3, 3, 3, 3}); flat.P != 1 || flat.Total != 0 {
		t.Errorf("equal values: %+v", flat)
	}
}

// A run directory can have a million trials: their trend takes little time and memory.
func TestTheTrendOfVeryManyValuesIsThatOfTheirNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rising, level := make([]float64, 500_000), make([]float64, 500_000)
	for i := range rising {
		level[i] = r.NormFloat64()
		rising[i] = level[i] + float64(i)/250_000
	}
	if got := TrendOf(rising); got.P > 1e-9 || math.Abs(got.Total-2) > .05 {
		t.Errorf("%+v of values that rise by 2", got)
	}
	if got := TrendOf(level); got.P < .01 || math.Abs(got.Total) > .05 {
		t.Errorf("%+v of values that do not", got)
	}
}

var oneMode = map[string]func(*rand.Rand) float64{
	"uniform":     (*rand.Rand).Float64,
	"normal":      (*rand.Rand).NormFloat64,
	"exponential": (*rand.Rand).ExpFloat64,
	"lognormal":   func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) },
	"double exponential": func(r *rand.Rand) float64 {
		return r.ExpFloat64() * float64(2*r.IntN(2)-1)
	},
}

// Whatever law with one mode the values follow, about 1% of the samples are
// called something else by mistake: each rule on its own, with ten values and
// with others.
func TestSamplesOfOneModeAreRarelyCalledAnythingElse(t *testing.T) {
	samples := 8000
	if needs.ShortForm() {
		samples = 1000
	}
	// 1% and four standard deviations more.
	limit := int(.01*float64(samples) + 4*math.Sqrt(.01*.99*float64(samples)))
	for name, draw := range oneMode {
		for _, n := range []int{8, 9, 10, 12, 15, 20, 30} {
			r := rand.New(rand.NewPCG(uint64(n), 5))
			modes, trends := 0, 0
			for range samples {
				v := make([]float64, n)
				for i := range v {
					v[i] = draw(r)
				}
				if _, two := TwoModes(v); two {
					modes++
				}
				if n <= 12 && TrendOf(v).P < .01 {
					trends++
				}
			}
			if modes > limit || trends > limit {
				t.Errorf("%s, n=%d: %d of %d samples have two modes, %d a trend", name, n, modes, samples, trends)
			}
		}
	}
}

func TestALoneValueIsRareAmongNormalOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	alone := 0
	for range 8000 {
		v := make([]float64, 10)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		if Alone(v) >= 0 {
			alone++
		}
	}
	if alone > 40 {
		t.Errorf("%d of 8000 normal samples have a lone value", alone)
	}
	if at := Alone([]float64{5, 5.1, 5.02, 5.05, 9, 5.01, 5.03, 5.04}); at != 4 {
		t.Errorf("the lone value is found at %d", at)
	}
}

func TestTwoGroupsWithNothingBetweenThemAreFoundWhereverTheyLie(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(9, 40).Draw(rt, "n")
		low := rapid.IntRange((n+3)/4, n-(n+3)/4).Draw(rt, "low")
		scale := rapid.Float64Range(1e-3, 1e3).Draw(rt, "scale")
		v := make([]float64, n)
		for i := range v {
			v[i] = scale * (10 + rapid.Float64Range(0, 1).Draw(rt, "noise"))
			if i >= low {
				v[i] += 8 * scale
			}
		}
		v = rapid.Permutation(v).Draw(rt, "order")
		boundary, two := TwoModes(v)
		if !two || boundary < 11*scale || boundary > 18*scale {
			rt.Fatalf("%v: two=%v at %g", v, two, boundary)
		}
	})
	for _, v := range [][]float64{{1, 2, 3}, {4, 4, 4, 4, 4, 4, 4, 4, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 90}} {
		if _, two := TwoModes(v); two {
			t.Errorf("%v has two modes", v)
		}
	}
	if _, two := TwoModes([]float64{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}); !two {
		t.Error("five times 1 and five times 2 are one mode")
	}
}

func TestTheExactTrendTestCountsPermutations(t *testing.T) {
	// Permutations of n values with 0, 1, 2, ... inversions.
	for n, counts := range map[int][]float64{2: {1, 1}, 3: {1, 2, 2, 1}, 4: {1, 3, 5, 6, 5, 3, 1}, 5: {1, 4, 9, 15, 20, 22, 20, 15, 9, 4, 1}} {
		all, sum := 0.0, 0.0
		for _, c := range counts {
			all += c
		}
		for inversions, c := range counts {
			sum += c
			if got, want := kendallExact(n, inversions), min(1, 2*sum/all); math.Abs(got-want) > 1e-14 {
				t.Errorf("%d values, %d inversions: p = %g, want %g", n, inversions, got, want)
			}
		}
	}
	// The least possible one, of 60 values in rising order, is 2/60!.
	if got, want := math.Log(kendallExact(60, 0)), math.Log(2)-logGamma(61); math.Abs(got-want) > 1e-9 {
		t.Errorf("of 60 values in order: log p = %g, want %g", got, want)
	}
}

func logGamma(x float64) float64 { l, _ := math.Lgamma(x); return l }
