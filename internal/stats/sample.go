package stats

import (
	"math"
	"slices"
)

// Trend is how a sample drifts in the order in which it was taken.
type Trend struct {
	P     float64 // two-sided, of the Mann-Kendall test
	Total float64 // the Theil-Sen slope times the steps from the first value to the last
}

// mostInTrend is how many values are compared in pairs.
const mostInTrend = 1000

// TrendOf tests the values for a drift by the Mann-Kendall test (Mann,
// Nonparametric tests against trend, 1945): exact where no two values are equal,
// else by the normal approximation with the variance corrected for ties (Kendall,
// Rank Correlation Methods, 1970). The slope is the Theil-Sen estimator, the
// median of the slopes of all pairs (Sen, Estimates of the regression coefficient
// based on Kendall's tau, 1968). Of more than a thousand values it takes the medians of
// as many groups of neighbours: the pairs of all would not fit into memory.
func TrendOf(values []float64) Trend {
	if size := (len(values) + mostInTrend - 1) / mostInTrend; size > 1 {
		var medians []float64
		for group := range slices.Chunk(values, size) {
			medians = append(medians, Median(group))
		}
		values = medians
	}
	n := len(values)
	if n < 2 {
		return Trend{P: 1}
	}
	rising, falling, ties := 0, 0, false
	var slopes []float64
	for i, a := range values {
		for j := i + 1; j < n; j++ {
			switch b := values[j]; {
			case b > a:
				rising++
			case b < a:
				falling++
			default:
				ties = true
			}
			slopes = append(slopes, (values[j]-a)/float64(j-i))
		}
	}
	t := Trend{Total: Median(slopes) * float64(n-1)}
	if ties || n > 60 {
		t.P = kendallNormal(values, rising-falling)
	} else {
		t.P = kendallExact(n, min(rising, falling))
	}
	return t
}

// kendallExact is the two-sided p-value: twice the probability that a random
// permutation of n values has at most this number of inversions.
func kendallExact(n, inversions int) float64 {
	probability := []float64{1} // of 0, 1, ... inversions among the first values
	for k := 2; k <= n; k++ {
		// The k-th value precedes 0 to k-1 of the earlier ones, all equally likely.
		below := make([]float64, len(probability)+1) // sums of the first probabilities
		for i, p := range probability {
			below[i+1] = below[i] + p
		}
		next := make([]float64, len(probability)+k-1)
		for i := range next {
			next[i] = (below[min(i+1, len(probability))] - below[max(0, i+1-k)]) / float64(k)
		}
		probability = next
	}
	sum := 0.0
	for _, p := range probability[:inversions+1] {
		sum += p
	}
	return min(1, 2*sum)
}

func kendallNormal(values []float64, s int) float64 {
	n := float64(len(values))
	variance := n * (n - 1) * (2*n + 5)
	equal := map[float64]float64{}
	for _, v := range values {
		equal[v]++
	}
	for _, t := range equal {
		variance -= t * (t - 1) * (2*t + 5)
	}
	if variance <= 0 || s == 0 {
		return 1
	}
	z := (math.Abs(float64(s)) - 1) / math.Sqrt(variance/18)
	return min(1, 2*normalCDF(-z))
}

// gapLimits are the values that the gap statistic of unimodal samples exceeds in
// at most 1%, by the sample size: the largest over the uniform distribution, which
// is asymptotically the least favourable unimodal one for the dip statistic
// (Hartigan and Hartigan, The dip test of unimodality, 1985), the normal, the exponential, the
// double exponential and the lognormal, with 100 000 simulated samples each. From
// 20 values on strikingGap applies.
var gapLimits = map[int]float64{8: 6.9, 9: 2.7, 10: 2.3, 11: 2.0, 12: 1.8, 13: 1.15, 14: 1.05, 15: 1.0, 16: .97, 17: .8, 18: .74, 19: .68}

const (
	leastForModes = 8
	strikingGap   = .65
)

// TwoModes reports whether the values form two separate groups, below and above
// the boundary. The statistic is the widest gap with at least a quarter of the
// values on either side, relative to the rest of the range. The range excludes the
// smallest and the largest value, so that one outlier neither makes nor hides two
// modes. Samples of fewer than 8 values never have two.
func TwoModes(values []float64) (boundary float64, two bool) {
	n := len(values)
	if n < leastForModes {
		return 0, false
	}
	x := slices.Sorted(slices.Values(values))
	side, gap := (n+3)/4, 0.0
	for i := side; i <= n-side; i++ {
		if d := x[i] - x[i-1]; d > gap {
			gap, boundary = d, x[i-1]+d/2
		}
	}
	limit, ok := gapLimits[n]
	if !ok {
		limit = strikingGap
	}
	return boundary, gap > 0 && gap > limit*(x[n-2]-x[1]-gap)
}

// Alone is the position of the single value that is far from all others: its
// distance to the nearest is at least 0.8 of the range. That is the ratio r10 of
// Dixon (Processing data for outliers, 1953), far beyond its 1% point for ten
// normal values; exponential samples reach it in 1% of cases. -1 where there is no
// such value, or fewer than 8 values.
func Alone(values []float64) int {
	n := len(values)
	if n < leastForModes {
		return -1
	}
	x := slices.Sorted(slices.Values(values))
	whole := x[n-1] - x[0]
	switch {
	case whole <= 0:
		return -1
	case x[1]-x[0] >= .8*whole:
		return slices.Index(values, x[0])
	case x[n-1]-x[n-2] >= .8*whole:
		return slices.Index(values, x[n-1])
	}
	return -1
}

// Spread is the interquartile range.
func Spread(values []float64) float64 { return Quantile(values, .75) - Quantile(values, .25) }
