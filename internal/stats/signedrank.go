package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// exactUpTo is the largest number of differences for which the null distribution
// of the signed-rank statistic is computed exactly. Beyond it an Edgeworth
// expansion is used; a test compares the two.
const exactUpTo = 200

// SignedRankCDF is P(W+ <= w) for w = 0 ... n(n+1)/2, where W+ is the signed-rank
// statistic of Wilcoxon (Individual comparisons by ranking methods, 1945): the sum
// of the ranks of the positive differences, among n that are symmetric about zero.
// The slice is shared: do not modify it. n is at most 200.
func SignedRankCDF(n int) []float64 { return signedRankCDFs.of(n) }

var signedRankCDFs = once[int, []float64]{compute: func(n int) []float64 {
	// p[w] is the probability of W+ = w among the first k ranks; each rank is in
	// the sum with probability 1/2.
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	for k := 1; k <= n; k++ {
		for w := k * (k + 1) / 2; w >= 0; w-- {
			x := p[w]
			if w >= k {
				x += p[w-k]
			}
			p[w] = x / 2
		}
	}
	for w := 1; w < len(p); w++ {
		p[w] += p[w-1]
	}
	return p
}}

// SignedRankK is the largest k with P(W+ <= k-1) <= alpha/2. The ends of the
// Hodges-Lehmann interval are the k-th smallest and the k-th largest Walsh
// average; with k = 0 it is unbounded. A level may be an attainable p-value, so the
// comparison has a relative tolerance of 1e-9.
func SignedRankK(n int, alpha float64) int {
	limit := alpha / 2 * (1 + 1e-9)
	if n <= exactUpTo {
		cdf := SignedRankCDF(n)
		return sort.Search(len(cdf), func(w int) bool { return cdf[w] > limit })
	}
	return sort.Search(n*(n+1)/4+1, func(w int) bool { return edgeworth(n, float64(w)) > limit })
}

// edgeworth approximates P(W+ <= w) by the normal distribution with a continuity
// correction and the term of the fourth cumulant (Fellingham and Stoker, An
// approximation for the exact distribution of the Wilcoxon test for symmetry,
// 1964).
func edgeworth(n int, w float64) float64 {
	f := float64(n)
	variance := f * (f + 1) * (2*f + 1) / 24
	// The fourth cumulant of W+ is -1/8 of the sum of k^4 over the ranks k.
	fourth := -f * (f + 1) * (2*f + 1) * (3*f*f + 3*f - 1) / 30 / 8
	x := (w + .5 - f*(f+1)/4) / math.Sqrt(variance)
	p := normalCDF(x) - math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)*fourth/(variance*variance)/24*(x*x*x-3*x)
	return math.Max(p, 0)
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// SignedRankP is the exact two-sided p-value of the Wilcoxon signed-rank test of
// symmetry about centre; beyond 200 differences it is approximate. Tied absolute
// values get their mean rank and a difference of zero counts half; both are rounded
// towards the larger p.
func SignedRankP(d []float64, centre float64) float64 {
	n := len(d)
	x := make([]float64, n)
	for i, v := range d {
		x[i] = v - centre
	}
	slices.SortFunc(x, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
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
	w := math.Ceil(math.Min(positive, all-positive) - 1e-9)
	if n > exactUpTo {
		return math.Min(1, 2*edgeworth(n, w))
	}
	return math.Min(1, 2*SignedRankCDF(n)[int(w)])
}
