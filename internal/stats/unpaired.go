package stats

import (
	"math"
	"slices"
	"sort"
)

// Shift is the two-sample Hodges-Lehmann estimator of the shift of the values
// against the base, for values that are not paired: the median of all differences
// (Hodges and Lehmann, 1963), with the interval that inverts the rank-sum test of
// Mann and Whitney (On a test of whether one of two random variables is
// stochastically larger than the other, 1947) at level alpha. It is descriptive:
// a drift of the machine between the two samples is not controlled.
func Shift(values, base []float64, alpha float64) Interval {
	x, y := slices.Sorted(slices.Values(values)), slices.Sorted(slices.Values(base))
	if len(x) == 0 || len(y) == 0 {
		return Interval{math.NaN(), math.Inf(-1), math.Inf(1)}
	}
	atMost := func(limit float64) int {
		count, j := 0, 0
		for _, v := range x { // as v grows, so does the number of base values with v-y > limit
			for j < len(y) && v-y[j] > limit {
				j++
			}
			count += len(y) - j
		}
		return count
	}
	at := func(k int) float64 {
		return kth(x[0]-y[len(y)-1], x[len(x)-1]-y[0], func(limit float64) bool { return atMost(limit) >= k })
	}
	pairs := len(x) * len(y)
	v := Interval{(at((pairs+1)/2) + at(pairs/2+1)) / 2, math.Inf(-1), math.Inf(1)}
	if k := rankSumK(len(x), len(y), alpha); k > 0 {
		v.Low, v.High = at(k), at(pairs+1-k)
	}
	return v
}

// exactPairs is the largest product of two sample sizes for which the distribution of
// the rank-sum statistic is computed exactly.
const exactPairs = 2500

// rankSumK is the largest k with P(U <= k-1) <= alpha/2, where U is the statistic
// of Mann and Whitney: exact for small samples, else by the normal approximation.
func rankSumK(n, m int, alpha float64) int {
	pairs := n * m
	if pairs > exactPairs {
		sd := math.Sqrt(float64(pairs) * float64(n+m+1) / 12)
		return sort.Search(pairs/2+1, func(k int) bool {
			return normalCDF((float64(k)+.5-float64(pairs)/2)/sd) > alpha/2
		})
	}
	cdf := rankSumCDF(n, m)
	return sort.Search(pairs, func(k int) bool { return cdf[k] > alpha/2*(1+1e-9) })
}

// rankSumCDF is P(U <= u) for u = 0 ... nm, by the recursion of Mann and Whitney.
func rankSumCDF(n, m int) []float64 { return rankSumCDFs.of([2]int{n, m}) }

var rankSumCDFs = once[[2]int, []float64]{compute: func(of [2]int) []float64 {
	n, m := of[0], of[1]
	pairs := n * m
	// ways[i][u] counts the orders of i values and j base values in which u pairs
	// have the value above the base, for j from 0 to m. The largest of all is
	// either a base value, or a value that is above all j.
	ways := make([][]float64, n+1)
	for i := range ways {
		ways[i] = make([]float64, pairs+1)
		ways[i][0] = 1
	}
	for j := 1; j <= m; j++ {
		for i := 1; i <= n; i++ {
			for u := j; u <= i*j; u++ {
				ways[i][u] += ways[i-1][u-j]
			}
		}
	}
	cdf, below := ways[n], 0.0
	for u, c := range cdf {
		below += c
		cdf[u] = below
	}
	for u := range cdf {
		cdf[u] /= below
	}
	return cdf
}}
