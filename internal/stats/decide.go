package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Outcome is the result for one contrast. The caller, who knows the metric, gives
// the direction its word (slower, faster).
type Outcome string

// The outcomes.
const (
	Undecided  Outcome = "undecided"
	Equivalent Outcome = "equivalent" // inside the margin
	Different  Outcome = "different"  // zero is excluded
)

// Decision is the state of one contrast after N differences, where each of them may be
// the last.
type Decision struct {
	N        int // differences that the interval is computed from
	Interval Interval
	Outcome  Outcome
}

// BlocksNeeded projects the number of blocks after which the half-width of the interval at
// alpha is at most that wanted, from one of n blocks; 0 where that is unbounded. The width
// shrinks as that of normal differences does.
func BlocksNeeded(n int, v Interval, alpha, wanted float64) int {
	if !v.Bounded() || wanted <= 0 {
		return 0
	}
	return BlocksFor((v.High-v.Low)/2/expectedHalf(n, alpha), n, alpha, wanted)
}

// BlocksFor is the least number of blocks, at least so many, whose differences of this
// standard deviation have an interval at alpha that is expected to be narrow enough.
func BlocksFor(deviation float64, least int, alpha, wanted float64) int {
	half := func(n int) float64 { return deviation * expectedHalf(n, alpha) }
	most := max(least, exactUpTo)
	if last := half(most); last > wanted {
		return int(math.Ceil(float64(most) * math.Pow(last/wanted, 2)))
	}
	return least + sort.Search(most-least, func(n int) bool { return half(least+n) <= wanted })
}

// expectedHalf is about the half-width of the interval of n standard normal differences. An
// extended range is as wide as their expected range says (Blom, Statistical estimates and
// transformed beta-variables, 1958). A signed-rank interval is that of Student's t at the
// level that the distribution of ranks allows, over the root of its efficiency, 3/pi
// (Hollander, Wolfe and Chicken, Nonparametric statistical methods, 2014, section 3.11).
func expectedHalf(n int, alpha float64) float64 {
	k := SignedRankK(n, alpha)
	if k == 0 {
		return normalRange(n) * (1 + 2*extension(n, alpha))
	}
	return rankHalves.of([2]int{n, k})
}

// rankHalves are half-widths by differences and rank. A search asks for the same ones again
// and again, and a quantile of Student's t takes most of the time of an analysis.
var rankHalves = once[[2]int, float64]{compute: func(of [2]int) float64 {
	n, k := of[0], of[1]
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	return t.Quantile(1-signedRankP(n, k-1)) * math.Sqrt(math.Pi/3/float64(n))
}}

// normalRange is about half of the expected range of n standard normal values.
func normalRange(n int) float64 {
	return math.Sqrt2 * math.Erfinv(2*(float64(n)-.375)/(float64(n)+.25)-1)
}
