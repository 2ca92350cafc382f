package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// successive are n values around 0 in which each has this correlation with the one before.
func successive(rng *rand.Rand, n int, correlation float64) []float64 {
	values, before := make([]float64, n), rng.NormFloat64()
	for i := range values {
		values[i] = before
		before = correlation*before + math.Sqrt(1-correlation*correlation)*rng.NormFloat64()
	}
	return values
}

// The interval of a value holds where blocks resemble each other as the recorded ones do,
// also where the run ends because of these very values: the other side is always 1.
func TestTheIntervalOfSuccessiveValuesHoldsTheirMean(t *testing.T) {
	rng, runs := rand.New(rand.NewPCG(3, 5)), simulatedRuns(t, 400)
	limit := .05 + 4*math.Sqrt(.05*.95/float64(runs))
	for _, correlation := range []float64{0, .2, .33, .4} {
		for _, n := range []int{4, 5, 6, 8, 12, 20, 40} {
			missed, plain, width := 0, 0, 0.0
			for range runs {
				values := successive(rng, n, correlation)
				v, narrow := Value(values, .05), HodgesLehmann(values, .05)
				width += (v.High - v.Low) / (narrow.High - narrow.Low) / float64(runs)
				if v.ExcludesZero() {
					missed++
				}
				if narrow.ExcludesZero() {
					plain++
				}
			}
			rate := float64(missed) / float64(runs)
			t.Logf("correlation %.2f, %d blocks: misses in %.1f%%, %.2f times as wide as plain, which misses in %.1f%%", correlation, n, 100*rate, width, 100*float64(plain)/float64(runs))
			if rate > limit {
				t.Errorf("correlation %.2f, %d blocks: misses in %.1f%%", correlation, n, 100*rate)
			}
		}
	}
	for _, budget := range []bool{false, true} {
		for _, change := range []float64{0, .02, .05, .1, .2, .7, 3.4} {
			rules := Rules{M: 1, Rate: .05, Margin: math.Log1p(.02), Precision: .25}
			missed, plain, blocks := 0, 0, 0
			for range runs {
				most := 60
				if budget {
					most = 16
				}
				values := successive(rng, most, .33)
				for i := range values {
					values[i] = change + .05*values[i]
				}
				n := rules.Judge([]Course{course(values, budget)})[0].N
				blocks += n
				if v := Value(values[:n], .05); v.Low > change || v.High < change {
					missed++
				}
				if v := HodgesLehmann(values[:n], .05); v.Low > change || v.High < change {
					plain++
				}
			}
			rate := float64(missed) / float64(runs)
			t.Logf("budget %v, change %.2f: after %.1f blocks misses in %.1f%%, plain in %.1f%%", budget, change, float64(blocks)/float64(runs), 100*rate, 100*float64(plain)/float64(runs))
			if rate > limit {
				t.Errorf("budget %v, change %.2f: misses in %.1f%%", budget, change, 100*rate)
			}
		}
	}
}
