package stats

import (
	"math"
	"slices"
)

// Stratum has the values of two groups under the same conditions.
type Stratum struct{ One, Other []float64 }

// StratifiedP is the two-sided p-value of the stratified rank-sum test: the groups
// of each stratum have the same distribution, whatever that of the stratum is (van
// Elteren, On the combination of independent two sample tests of Wilcoxon, 1960;
// with mid-ranks and the variance that they have under permutation: Hollander, Wolfe
// and Chicken, Nonparametric Statistical Methods, 2014, section 4.1). The statistic's distribution is taken as
// normal. It is 1 if no stratum has both groups.
func StratifiedP(strata []Stratum) float64 {
	sum, variance := 0.0, 0.0
	for _, s := range strata {
		m, n := float64(len(s.One)), float64(len(s.One)+len(s.Other))
		if m == 0 || m == n {
			continue
		}
		sorted := slices.Sorted(slices.Values(slices.Concat(s.One, s.Other)))
		excess, squares := 0.0, 0.0 // of the ranks over their mean
		rank := func(v float64) float64 {
			first, _ := slices.BinarySearch(sorted, v)
			after, _ := slices.BinarySearch(sorted, math.Nextafter(v, math.Inf(1)))
			return float64(first+after+1)/2 - (n+1)/2
		}
		for _, v := range s.One {
			excess += rank(v)
		}
		for _, v := range sorted {
			squares += rank(v) * rank(v)
		}
		sum += excess / (n + 1)
		variance += m * (n - m) / (n * (n - 1)) * squares / ((n + 1) * (n + 1))
	}
	if variance == 0 {
		return 1
	}
	return min(1, 2*normalCDF(-math.Abs(sum)/math.Sqrt(variance)))
}
