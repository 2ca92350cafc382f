package stats

import (
	"math"
	"slices"
)

// SignedRankP is the exact two-sided p-value of the Wilcoxon signed-rank test of
// symmetry about centre, for at most 200 differences. Tied absolute values get
// their mean rank and a difference of zero counts half; both are rounded towards
// the larger p.
func SignedRankP(d []float64, centre float64) float64 {
	n := len(d)
	x := make([]float64, n)
	for i, v := range d {
		x[i] = v - centre
	}
	slices.SortFunc(x, func(a, b float64) int {
		switch a, b := math.Abs(a), math.Abs(b); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	positive := 0.0
	for i := 0; i < n; {
		j := i
		for j < n && math.Abs(x[j]) == math.Abs(x[i]) {
			j++
		}
		rank := float64(i+1+j) / 2
		for _, v := range x[i:j] {
			if v > 0 {
				positive += rank
			} else if v == 0 {
				positive += rank / 2
			}
		}
		i = j
	}
	all := float64(n*(n+1)) / 2
	w := int(math.Ceil(math.Min(positive, all-positive) - 1e-9))
	return math.Min(1, 2*SignedRankCDF(n)[w])
}
