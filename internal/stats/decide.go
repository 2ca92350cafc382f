package stats

import "math"

// Outcome is the result for one contrast. The caller, who knows the metric, gives
// the direction its word (slower, faster).
type Outcome string

// The outcomes.
const (
	Undecided    Outcome = "undecided"    // interim analyses are left
	Equivalent   Outcome = "equivalent"   // inside the margin
	Different    Outcome = "different"    // zero is excluded
	Inconclusive Outcome = "inconclusive" // after the last analysis
)

// Decision is the state of one contrast after N differences.
type Decision struct {
	N           int      // differences that the intervals are computed from
	Interval    Interval // at alpha: the one that is reported
	Equivalence Interval // at alphaEq: the one that must lie inside the margin
	Outcome     Outcome
}

// Continue does the interim analyses of d in order, for one contrast of a family of
// m with the margin as a log ratio: those after that of the decision last, which is on the
// first differences of d. The first outcome is final. Without an outcome it returns the
// state at the last analysis that d reaches; N is 0 before the first.
//
// This is a group-sequential test with the same nominal level at every analysis
// (Pocock, Group sequential methods in the design and analysis of clinical
// trials, 1977; analyses at few fixed numbers: Lan and DeMets, Discrete
// sequential boundaries for clinical trials, 1983). Levels has the levels.
func Continue(last Decision, d []float64, m int, margin float64) Decision {
	alpha, alphaEq := Levels(m)
	return continued(looks, last, d, alpha, alphaEq, margin)
}

func continued(looks []int, last Decision, d []float64, alpha, alphaEq, margin float64) Decision {
	for _, n := range looks {
		if n <= last.N {
			continue
		}
		if n > len(d) || last.Outcome != Undecided {
			break
		}
		last = DecideOnce(d[:n], alpha, alphaEq, margin)
	}
	if last.N == looks[len(looks)-1] && last.Outcome == Undecided {
		last.Outcome = Inconclusive
	}
	return last
}

// DecideOnce analyses d at these two-sided levels: equivalent if the alphaEq
// interval lies inside the margin, even if it excludes zero; else different if
// the alpha interval excludes zero; else undecided.
//
// Equivalence is the test by two one-sided tests, TOST, each at alphaEq/2
// (Schuirmann, A comparison of the two one-sided tests procedure and the power
// approach for assessing the equivalence of average bioavailability, 1987), here
// with signed-rank tests in place of t tests.
func DecideOnce(d []float64, alpha, alphaEq, margin float64) Decision {
	w := NewWalsh(d)
	v := Decision{N: len(d), Interval: w.Interval(alpha), Equivalence: w.Interval(alphaEq), Outcome: Undecided}
	v.Outcome = outcome(v.Interval, v.Equivalence, margin)
	return v
}

func outcome(shown, equivalence Interval, margin float64) Outcome {
	switch {
	case equivalence.Inside(margin):
		return Equivalent
	case shown.ExcludesZero():
		return Different
	}
	return Undecided
}

// BlocksNeeded projects the number of blocks after which the interval at alpha is as
// narrow as the margin, from one of n blocks; 0 where that is unbounded. The width
// shrinks with the square root of n. That of an extended range shrinks with the
// extension, while the range grows as that of normal values does.
func BlocksNeeded(n int, v Interval, alpha, margin float64) int {
	if !v.Bounded() || margin <= 0 {
		return 0
	}
	half, wanted := (v.High-v.Low)/2, margin/2
	if extended(n, alpha) {
		deviation := half / (1 + 2*extension(n, alpha)) / normalRange(n)
		for ; extended(n, alpha); n++ {
			if deviation*normalRange(n)*(1+2*extension(n, alpha)) <= wanted {
				return n
			}
		}
		half = max(wanted, deviation*normalRange(n))
	}
	return int(math.Ceil(float64(n) * math.Pow(half/wanted, 2)))
}

// normalRange is about half of the expected range of n standard normal values (Blom,
// Statistical estimates and transformed beta-variables, 1958).
func normalRange(n int) float64 {
	return math.Sqrt2 * math.Erfinv(2*(float64(n)-.375)/(float64(n)+.25)-1)
}

// Narrow intersects an interval with a later one that holds simultaneously, and
// takes the later estimate. Where that lies outside the intersection, the earlier
// interval is returned unchanged.
func Narrow(earlier, later Interval) Interval {
	v := Interval{later.Estimate, math.Max(earlier.Low, later.Low), math.Min(earlier.High, later.High)}
	if v.Low <= v.Estimate && v.Estimate <= v.High {
		return v
	}
	return earlier
}
