package stats

import (
	"cmp"
	"math"
	"slices"
)

// looks are the numbers of blocks of the analyses of a run without a budget ("looks" in
// the literature on group-sequential tests). The first is the least number at which a
// small share of the error can bring a verdict.
var looks = [...]int{6, 9, 14, 21, 32, 45, 60}

// LeastLook is the least number of blocks of an analysis before the last one, and
// MostLook is the most that a run without a budget has.
const (
	LeastLook = 6
	MostLook  = 60
)

// BudgetLook is an analysis at the first end of a block after a part of the time, with
// its share of the error.
type BudgetLook struct{ Time, Share float64 }

// BudgetLooks are the analyses of a run with a budget before the last one, which has the
// rest of the error: a budget is mostly used, so an early look has little of it.
func BudgetLooks() []BudgetLook { return []BudgetLook{{.25, .02}, {.5, .10}} }

// NextLook is the first number of blocks of an analysis after n blocks; 0 where none is left.
func NextLook(n int) int {
	for _, l := range looks {
		if l > n {
			return l
		}
	}
	return 0
}

// Look is an analysis of the first N differences of a contrast with a share of the error,
// at the end of a block of the run.
type Look struct {
	N     int
	Block int
	Share float64
}

// CountLooks are the looks at differences of these blocks, rising, of a run of at most so
// many blocks without a budget, before the last one, which has the rest. The error that is
// spent up to n blocks grows with n^1.5 (Kim and DeMets, Design and analysis of group
// sequential tests based on the type I error spending rate function, 1987).
func CountLooks(blocks []int, most int) (all []Look) {
	spent := 0.0
	for _, n := range looks {
		if n >= most || n > len(blocks) {
			break
		}
		total := math.Pow(float64(n)/MostLook, 1.5)
		all, spent = append(all, Look{n, blocks[n-1], total - spent}), total
	}
	return all
}

// BlockLooks are the looks at differences of these blocks, rising, of a run with a budget:
// at[i] is the block at whose end the i-th of BudgetLooks is, 0 where it was not reached. Of
// fewer than LeastLook differences there is none.
func BlockLooks(blocks, at []int) (all []Look) {
	for i, l := range BudgetLooks() {
		n, found := slices.BinarySearch(blocks, at[i])
		if found {
			n++
		}
		if at[i] > 0 && n >= LeastLook && (i+1 == len(at) || at[i+1] != at[i]) {
			all = append(all, Look{n, at[i], l.Share})
		}
	}
	return all
}

// Spent is what the analyses of one contrast have found so far. Each has a share of the
// error that was fixed before the first, and the shares add up to 1 (spending of the error:
// Lan and DeMets, Discrete sequential boundaries for clinical trials, 1983). A p-value over
// its share is at most x in one of the analyses with a probability of at most x, by the
// inequality of Boole, whatever the analyses have in common. No distribution of the
// differences is assumed besides that of the single analysis.
type Spent struct {
	Share float64 // of all analyses so far
	// Difference and Equivalence are the least p-values over their shares. They are those
	// of one contrast: Holm judges a family.
	Difference, Equivalence float64
	// Above is the side of the analysis with the least p-value of a difference.
	Above bool
	// DifferenceN and EquivalenceN are the differences of the analyses that gave them.
	DifferenceN, EquivalenceN int
}

// NothingSpent is the state before the first analysis.
func NothingSpent() Spent { return Spent{Difference: math.Inf(1), Equivalence: math.Inf(1)} }

// Analyse adds an analysis of these differences with a share of the error. Equivalence is
// the test by two one-sided tests, TOST (Schuirmann, A comparison of the two one-sided
// tests procedure and the power approach for assessing the equivalence of average
// bioavailability, 1987), here with signed-rank tests in place of t tests.
func (s *Spent) Analyse(d []float64, share, margin float64) {
	w := NewWalsh(d)
	s.Share += share
	above, below := w.PAbove(0), w.PBelow(0)
	if q := 2 * min(above, below) / share; q < s.Difference {
		s.Difference, s.Above, s.DifferenceN = q, above < below, len(d)
	}
	if q := max(w.PBelow(margin), w.PAbove(-margin)) / share; q < s.Equivalence {
		s.Equivalence, s.EquivalenceN = q, len(d)
	}
}

// Holm says which of several hypotheses are rejected so that the error of all m of their
// family is at most rate (A simple sequentially rejective multiple test procedure, 1979).
// Those of the family that are not given count as never rejected.
func Holm(p []float64, m int, rate float64) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	rejected := make([]bool, len(p))
	for at, i := range order {
		if p[i] > rate/float64(m-at)*(1+1e-9) {
			break
		}
		rejected[i] = true
	}
	return rejected
}

// PAbove is the one-sided p-value of the hypothesis that the centre is at most c, by
// the signed-rank test. Where all differences lie above c it is that of the extended
// range, if that is smaller. The interval at the two-sided level alpha lies above c where
// this is at most alpha/2.
func (w Walsh) PAbove(c float64) float64 {
	n := len(w.sorted)
	p := signedRankP(n, w.atMost(c))
	if least, most := w.sorted[0]-c, w.sorted[n-1]-c; least > 0 {
		p = min(p, math.Pow((1-least/most)/2, float64(n-1))/2)
	}
	return p
}

// PBelow is that of the hypothesis that the centre is at least c.
func (w Walsh) PBelow(c float64) float64 {
	n := len(w.sorted)
	p := signedRankP(n, w.Count()-w.atMost(math.Nextafter(c, math.Inf(-1))))
	if least, most := w.sorted[0]-c, w.sorted[n-1]-c; most < 0 {
		p = min(p, math.Pow((1-most/least)/2, float64(n-1))/2)
	}
	return p
}

// signedRankP is P(W+ <= w).
func signedRankP(n, w int) float64 {
	if n <= exactUpTo {
		return SignedRankCDF(n)[w]
	}
	return min(1, edgeworth(n, float64(w)))
}
