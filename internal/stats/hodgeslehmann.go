package stats

import (
	"math"
	"slices"
)

// HodgesLehmann is the Hodges-Lehmann estimator, the median of the Walsh averages
// (d_i+d_j)/2, i <= j, with its exact interval at the two-sided level alpha
// (Hodges and Lehmann, Estimates of location based on rank tests, 1963; Walsh,
// Some significance tests for the median which are valid under very general
// conditions, 1949).
func HodgesLehmann(d []float64, alpha float64) Interval {
	return NewWalsh(d).Interval(alpha)
}

// Walsh gives order statistics of the Walsh averages of a sample without listing
// them, in memory that is linear in the sample.
type Walsh struct {
	sorted []float64
}

// NewWalsh returns the Walsh averages of a sample, in any order.
func NewWalsh(d []float64) Walsh { return Walsh{slices.Sorted(slices.Values(d))} }

// Count is the number of Walsh averages.
func (w Walsh) Count() int { n := len(w.sorted); return n * (n + 1) / 2 }

// Median of the Walsh averages: the Hodges-Lehmann estimate; NaN of an empty
// sample.
func (w Walsh) Median() float64 {
	m := w.Count()
	if m == 0 {
		return math.NaN()
	}
	low := w.At((m + 1) / 2)
	if m%2 == 1 {
		return low
	}
	return (low + w.At(m/2+1)) / 2
}

// Interval is the estimate with its interval at the two-sided level alpha: the
// signed-rank test of Wilcoxon, inverted, has the k-th smallest and the k-th
// largest Walsh average as its ends (Hollander, Wolfe and Chicken, Nonparametric
// Statistical Methods, 2014, section 3.3). Where the sample is too small for that,
// the interval is the extended range.
func (w Walsh) Interval(alpha float64) Interval {
	v := Interval{w.Median(), math.Inf(-1), math.Inf(1)}
	if k := SignedRankK(len(w.sorted), alpha); k > 0 {
		v.Low, v.High = w.At(k), w.At(w.Count()+1-k)
	} else if n := len(w.sorted); n >= LeastBlocks {
		least, most := w.sorted[0], w.sorted[n-1]
		beyond := extension(n, alpha) * (most - least)
		v.Low, v.High = least-beyond, most+beyond
	}
	return v
}

// At is the k-th smallest Walsh average, k from 1. It bisects the floating-point
// numbers between the smallest and the largest difference and counts in linear
// time how many averages are at most the middle, so the result is exact.
func (w Walsh) At(k int) float64 {
	return kth(w.sorted[0], w.sorted[len(w.sorted)-1], func(x float64) bool { return w.atMost(x) >= k })
}

// atMost counts the Walsh averages that are at most x.
func (w Walsh) atMost(x float64) int {
	count, j := 0, len(w.sorted)-1
	for i := 0; i <= j; {
		if (w.sorted[i]+w.sorted[j])/2 <= x {
			count += j - i + 1
			i++
		} else {
			j--
		}
	}
	return count
}

// kth is the smallest floating-point number between low and high for which enough
// is true; enough must be monotonic.
func kth(low, high float64, enough func(float64) bool) float64 {
	a, b := ordinal(low), ordinal(high)
	for a < b {
		// The distance may overflow an int64.
		middle := a + int64((uint64(b)-uint64(a))/2)
		if enough(fromOrdinal(middle)) {
			b = middle
		} else {
			a = middle + 1
		}
	}
	return fromOrdinal(a)
}

// ordinal maps floating-point numbers to integers in the same order.
func ordinal(x float64) int64 {
	b := int64(math.Float64bits(x))
	if b < 0 {
		return math.MinInt64 - b
	}
	return b
}

func fromOrdinal(o int64) float64 {
	if o >= 0 {
		return math.Float64frombits(uint64(o))
	}
	return math.Float64frombits(uint64(math.MinInt64 - o))
}
