package stats

import (
	"math"
	"slices"
)

// HodgesLehmann is the median of the Walsh averages (d_i+d_j)/2, i <= j, with
// its exact interval at the two-sided level alpha.
func HodgesLehmann(d []float64, alpha float64) Interval {
	return NewWalsh(d).Interval(alpha)
}

// Walsh answers questions about the Walsh averages of a sample without listing
// them, so that thousands of differences are no matter.
type Walsh struct {
	sorted []float64
}

// NewWalsh takes the differences of a sample, in any order.
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

// Interval is the estimate with its interval at the two-sided level alpha.
func (w Walsh) Interval(alpha float64) Interval {
	v := Interval{w.Median(), math.Inf(-1), math.Inf(1)}
	if k := SignedRankK(len(w.sorted), alpha); k > 0 {
		v.Low, v.High = w.At(k), w.At(w.Count()+1-k)
	}
	return v
}

// At is the k-th smallest Walsh average, k from 1. It halves the interval of
// floating-point numbers between the smallest and the largest difference, and
// counts in linear time how many averages lie at or below the middle: the
// answer is exact.
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

// kth is the smallest floating-point number between low and high for which
// enough holds, where enough never turns false again once it holds.
func kth(low, high float64, enough func(float64) bool) float64 {
	a, b := ordinal(low), ordinal(high)
	for a < b {
		// The distance may be more than an int64 holds.
		middle := a + int64((uint64(b)-uint64(a))/2)
		if enough(fromOrdinal(middle)) {
			b = middle
		} else {
			a = middle + 1
		}
	}
	return fromOrdinal(a)
}

// ordinal numbers the floating-point numbers in their order.
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
