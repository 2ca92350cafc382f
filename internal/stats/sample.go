package stats

import (
	"math"
	"slices"
)

// Trend is what a sample does along the order in which it was taken.
type Trend struct {
	P     float64 // two-sided, of the test of Mann and Kendall
	Total float64 // the slope of Theil and Sen, times the steps from the first value to the last
}

// TrendOf looks for a drift along the values. The test is exact where no two
// values are equal, and else by the normal approximation with the variance
// corrected for ties (Kendall, Rank Correlation Methods, 1970). The slope is
// the median of all slopes between two values (Sen, 1968).
func TrendOf(values []float64) Trend {
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

// kendallExact is twice the chance that a random order of n values has at most
// so many inversions.
func kendallExact(n, inversions int) float64 {
	chance := []float64{1} // of 0, 1, ... inversions among the first values
	for k := 2; k <= n; k++ {
		next := make([]float64, len(chance)+k-1)
		for i, p := range chance {
			for j := range k { // the k-th value stands before j of the earlier ones
				next[i+j] += p / float64(k)
			}
		}
		chance = next
	}
	sum := 0.0
	for _, p := range chance[:inversions+1] {
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

// gapLimits are the sizes of the gap statistic that the samples of one mode
// exceed in at most 1%, by the number of values: the largest over the uniform
// law, which is the least favourable one of a single mode with bounded support
// (Hartigan and Hartigan, The dip test of unimodality, 1985), the normal, the
// exponential, the double exponential and the lognormal law, each with 100 000
// simulated samples. From 20 values on a gap must be striking besides.
var gapLimits = map[int]float64{8: 6.9, 9: 2.7, 10: 2.3, 11: 2.0, 12: 1.8, 13: 1.15, 14: 1.05, 15: 1.0, 16: .97, 17: .8, 18: .74, 19: .68}

const (
	leastForModes = 8
	strikingGap   = .65
)

// TwoModes says whether the values fall into two groups with nothing between
// them, and where: all below the boundary are the one, all above it the other.
// The rule is the widest gap that has at least a quarter of the values on
// either side, against all the rest of the range; the smallest and the largest
// value are left out of it, so that neither one outlier makes two modes nor
// hides them. Below 8 values it finds nothing.
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

// Alone is the position of the one value that lies apart from all others: its
// distance to the nearest is at least eight tenths of the whole range. That is
// Dixon's ratio (Processing data for outliers, 1953), far beyond its 1% point
// for ten normal values: exponential ones reach it in 1% of the samples. -1 where there is none, or fewer than 8 values.
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

// Spread is the distance between the quartiles.
func Spread(values []float64) float64 { return Quantile(values, .75) - Quantile(values, .25) }
