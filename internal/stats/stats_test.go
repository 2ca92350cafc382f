package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// differences draws the log ratios of a run: between 1 and 60 of them, some
// tied, some zero.
func differences(t *rapid.T, least int) []float64 {
	value := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, .01, .02, -.01}))
	return rapid.SliceOfN(value, least, 60).Draw(t, "d")
}

func mirrored(d []float64) []float64 {
	m := make([]float64, len(d))
	for i, v := range d {
		m[i] = -v
	}
	return m
}

func alike(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*(1+math.Abs(a)) }

func sameInterval(a, b Interval) bool {
	return alike(a.Estimate, b.Estimate) && alike(a.Low, b.Low) && alike(a.High, b.High)
}

func turned(v Interval) Interval { return Interval{-v.Estimate, -v.High, -v.Low} }

var everyInterval = map[string]func(d []float64, alpha float64) Interval{
	"Hodges-Lehmann": HodgesLehmann,
	"open-ended":     OpenInterval,
}

func TestTheIntervalContainsTheEstimate(t *testing.T) {
	for name, interval := range everyInterval {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			v := interval(differences(t, 1), rapid.Float64Range(1e-4, .2).Draw(t, "alpha"))
			if v.Estimate < v.Low || v.Estimate > v.High {
				t.Fatalf("%+v", v)
			}
		}))
	}
}

func TestSwappingTheSidesTurnsTheIntervalRound(t *testing.T) {
	for name, interval := range everyInterval {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			d, alpha := differences(t, 1), rapid.Float64Range(1e-4, .2).Draw(t, "alpha")
			if a, b := interval(d, alpha), interval(mirrored(d), alpha); !sameInterval(a, turned(b)) {
				t.Fatalf("%+v is not %+v turned round", a, b)
			}
		}))
	}
}

func TestASmallerAlphaGivesAWiderInterval(t *testing.T) {
	for name, interval := range everyInterval {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			d := differences(t, 1)
			a, b := rapid.Float64Range(1e-4, .2).Draw(t, "a"), rapid.Float64Range(1e-4, .2).Draw(t, "b")
			narrow, wide := interval(d, max(a, b)), interval(d, min(a, b))
			if wide.Low > narrow.Low || wide.High < narrow.High {
				t.Fatalf("%+v does not contain %+v", wide, narrow)
			}
		}))
	}
}

func TestTheUnitOfMeasurementDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(8, 60).Draw(t, "n")
		value := rapid.Float64Range(1, 100)
		env, base := rapid.SliceOfN(value, n, n).Draw(t, "env"), rapid.SliceOfN(value, n, n).Draw(t, "base")
		scale := rapid.Float64Range(1e-6, 1e6).Draw(t, "scale")
		plain, scaled := make([]float64, n), make([]float64, n)
		for i := range plain {
			plain[i] = math.Log(env[i]) - math.Log(base[i])
			scaled[i] = math.Log(env[i]*scale) - math.Log(base[i]*scale)
		}
		if a, b := HodgesLehmann(plain, .05), HodgesLehmann(scaled, .05); !sameInterval(a, b) {
			t.Fatalf("%+v, scaled %+v", a, b)
		}
	})
}

func TestADecisionIsTheSameFromBothSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, m := differences(t, 1), rapid.IntRange(1, 60).Draw(t, "m")
		a, b := DecideOpen(d, m, .05, math.Log(1.02)), DecideOpen(mirrored(d), m, .05, math.Log(1.02))
		if a.N != b.N || a.Outcome != b.Outcome || !sameInterval(a.Interval, turned(b.Interval)) {
			t.Fatalf("%+v, from the other side %+v", a, b)
		}
	})
}

func TestTheFirstOutcomeSticks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := differences(t, 8)
		first := DecideOpen(d, 1, .05, math.Log(1.02))
		if first.Outcome == Undecided {
			return
		}
		later := DecideOpen(append(slices.Clone(d), rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 60-len(d)).Draw(t, "more")...), 1, .05, math.Log(1.02))
		if later != first {
			t.Fatalf("%+v became %+v", first, later)
		}
	})
}

// The selection by counting must give the very numbers that sorting gives.
func TestWalshAveragesAreThoseThatSortingGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := differences(t, 1)
		s := slices.Sorted(slices.Values(d))
		var all []float64
		for i := range s {
			for j := i; j < len(s); j++ {
				all = append(all, (s[i]+s[j])/2)
			}
		}
		slices.Sort(all)
		k := rapid.IntRange(1, len(all)).Draw(t, "k")
		if got := NewWalsh(d).At(k); got != all[k-1] {
			t.Fatalf("the %d-th is %v, sorting says %v", k, got, all[k-1])
		}
	})
}

func TestTheUnpairedShiftIsThatOfAllDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 20).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 20).Draw(t, "b")
		var all []float64
		for _, x := range a {
			for _, y := range b {
				all = append(all, x-y)
			}
		}
		v := Shift(a, b, .05)
		if !alike(v.Estimate, Median(all)) || v.Low > v.Estimate || v.High < v.Estimate {
			t.Fatalf("%+v, the median of all is %v", v, Median(all))
		}
		if k := rankSumK(len(a), len(b), .05); k > 0 {
			slices.Sort(all)
			if v.Low != all[k-1] || v.High != all[len(all)-k] {
				t.Fatalf("%+v, sorting says [%v, %v]", v, all[k-1], all[len(all)-k])
			}
		}
	})
}

// Critical values of the two-sided 5% test of Mann and Whitney as printed in
// textbooks: the largest U that is significant, which is k-1.
func TestTheRankSumTableIsThePublishedOne(t *testing.T) {
	for _, c := range []struct{ n, m, u int }{{4, 4, 0}, {5, 5, 2}, {8, 8, 13}, {10, 10, 23}, {5, 12, 11}, {20, 20, 127}} {
		if got := rankSumK(c.n, c.m, .05); got != c.u+1 {
			t.Errorf("n=%d, m=%d: k = %d, published is %d", c.n, c.m, got, c.u+1)
		}
	}
	if exact, approximate := rankSumK(50, 50, .05), rankSumK(50, 51, .05); approximate < exact || approximate > exact+30 {
		t.Errorf("the normal approximation does not go on where the exact table ends: %d, %d", exact, approximate)
	}
}

func TestTheExpansionContinuesTheExactTable(t *testing.T) {
	cdf := SignedRankCDF(exactUpTo)
	for _, p := range []float64{.0001, .001, .005, .025, .05} {
		w, _ := slices.BinarySearch(cdf, p)
		if got := edgeworth(exactUpTo, float64(w)); math.Abs(got-cdf[w]) > .003*cdf[w] {
			t.Errorf("P(W+ <= %d) = %.6g, exactly %.6g", w, got, cdf[w])
		}
	}
	if k := SignedRankK(5000, .05); k < 6000000 || k > 6252500 {
		t.Errorf("n=5000: k = %d", k)
	}
}

func TestNoSignedRankIntervalBelowSixBlocks(t *testing.T) {
	for n := 1; n < 6; n++ {
		if k := SignedRankK(n, .05); k != 0 {
			t.Errorf("n=%d: k = %d", n, k)
		}
	}
	if SignedRankK(6, .05) != 1 {
		t.Error("six blocks must give an interval")
	}
}

func TestTheOpenIntervalIsTheSetThatIsNotRejected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Multiples of 2^-20, so that differences are exact: rounding would tie
		// about one centre what is apart about another.
		grid := rapid.Map(rapid.IntRange(-1<<20, 1<<20), func(n int) float64 { return float64(n) / (1 << 20) })
		d := rapid.SliceOfN(grid, 5, 30).Draw(t, "d")
		alpha := rapid.SampledFrom([]float64{.05, .2, .5}).Draw(t, "alpha")
		v := OpenInterval(d, alpha)
		c := 1.25 * grid.Draw(t, "centre")
		e := evidence(d, c)
		inside := e.LogAbove() < math.Log(2/alpha) && e.LogBelow() < math.Log(2/alpha)
		if inside != (v.Low <= c && c <= v.High) {
			t.Fatalf("centre %v: not rejected is %v, the interval is %+v", c, inside, v)
		}
		if !inside && e.LogEither() < math.Log(1/alpha)-math.Ln2 {
			t.Fatalf("centre %v lies outside, but the two-sided e-process is only %v", c, e.LogEither())
		}
	})
}

// The whole point of the open-ended procedure: looking after every block, for
// as long as one likes, calls an A/A comparison different in at most 5%.
func TestOpenEndedAnalysesKeepTheErrorRate(t *testing.T) {
	const paths, blocks = 1000, 200
	rng := rand.New(rand.NewPCG(7, 11))
	wrong := 0
	d := make([]float64, blocks)
	for range paths {
		for i := range d {
			d[i] = rng.NormFloat64() * .1 * (1 + float64(i)/20)
		}
		if _, o := openOutcome(d, .05, math.Log(1.0001)); o == Different {
			wrong++
		}
	}
	if rate := float64(wrong) / paths; rate > .05+3*math.Sqrt(.05*.95/paths) {
		t.Errorf("false alarms: %.1f%%", 100*rate)
	} else {
		t.Logf("false alarms: %.1f%% of %d paths of %d blocks", 100*rate, paths, blocks)
	}
}

func TestTheNextLookIsFound(t *testing.T) {
	for n, next := range map[int]int{0: 6, 5: 6, 6: 9, 59: 60, 60: 0, 100: 0} {
		if NextLook(n) != next {
			t.Errorf("after %d blocks: %d", n, NextLook(n))
		}
	}
}

func TestOutliersAreCountedAndTailsCompared(t *testing.T) {
	if got := OutlierShare([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 100}); got != .1 {
		t.Errorf("outlier share %v", got)
	}
	if got := OutlierShare([]float64{1, 1, 1, 5}); got != 0 {
		t.Errorf("outlier share without a scale %v", got)
	}
	if got := Quantile([]float64{4, 1, 3, 2}, .5); got != 2.5 {
		t.Errorf("quantile %v", got)
	}
	if got := QuantileRatio([]float64{2, 4, 6}, []float64{1, 2, 3}, .95); !alike(got, 2) {
		t.Errorf("tail ratio %v", got)
	}
}

func TestBlocksNeeded(t *testing.T) {
	if got := BlocksNeeded(200, Interval{0, -.04, .04}, .01, .01); got != 3200 {
		t.Errorf("%d", got)
	}
	// At a level of 1/64, the range of four is extended by itself on each side, and
	// that of seven by nothing: there, the signed-rank interval begins.
	for half, want := range map[float64]int{.01: 4, .012: 5, .02: 7, .08: 44} {
		if got := BlocksNeeded(4, Interval{0, -half, half}, 1./64, .01); got != want {
			t.Errorf("of an extended range: %d, want %d", got, want)
		}
	}
	if got := BlocksNeeded(8, Interval{0, math.Inf(-1), math.Inf(1)}, .01, .01); got != 0 {
		t.Errorf("unbounded: %d", got)
	}
	if got := BlocksFor(0, 6, .05, .01); got != 6 {
		t.Errorf("without a deviation: %d", got)
	}
}

// What a projection expects of so many blocks is what normal differences give.
func TestTheHalfWidthOfAnIntervalIsExpected(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 2000
	for _, alpha := range []float64{.05, .044, .01, .001} {
		for _, n := range []int{4, 5, 6, 7, 8, 10, 12, 16, 24, 60, 120} {
			sum := 0.0
			for range runs {
				d := make([]float64, n)
				for i := range d {
					d[i] = rng.NormFloat64()
				}
				v := HodgesLehmann(d, alpha)
				sum += (v.High - v.Low) / 2
			}
			if got, want := sum/runs, expectedHalf(n, alpha); math.Abs(math.Log(got/want)) > .07 {
				t.Errorf("%d blocks at %v: %.3f, expected %.3f", n, alpha, got, want)
			}
		}
	}
}

func BenchmarkJudgeSixtyBlocks(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := make([]float64, 60)
	for i := range d {
		d[i] = rng.NormFloat64()
	}
	for b.Loop() {
		concluded(d, math.Log(1.02))
	}
}

// LogEither is the log of the two-sided e-value.
func (e *Evidence) LogEither() float64 {
	return logMeanExp([]float64{e.LogAbove(), e.LogBelow()})
}
