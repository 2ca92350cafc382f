package stats

import "math"

// Outcome is what the data say about one contrast. The words for a direction
// (slower, faster) come from whoever knows the metric.
type Outcome string

// The outcomes.
const (
	Undecided    Outcome = "undecided"    // looks are left
	Equivalent   Outcome = "equivalent"   // inside the margin
	Different    Outcome = "different"    // zero is excluded
	Inconclusive Outcome = "inconclusive" // the last look has passed
)

// Decision is the state of one contrast after N differences.
type Decision struct {
	N           int      // differences that the intervals stand on
	Interval    Interval // at alpha: what is shown
	Equivalence Interval // at alphaEq: what must lie inside the margin
	Outcome     Outcome
}

// Decide goes through the looks at d in order, for one contrast of a family of
// m with the margin as a log ratio; the first outcome sticks. Without an
// outcome it is the state at the last look that d reaches. N is 0 before the
// first look.
func Decide(d []float64, m int, margin float64) Decision {
	return Continue(Decision{Outcome: Undecided}, d, m, margin)
}

// Continue goes on from what Decide said about the first differences of d: only
// the looks that were not taken yet are taken.
func Continue(last Decision, d []float64, m int, margin float64) Decision {
	alpha, alphaEq := Levels(m)
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

// DecideOnce judges d at these two-sided levels: equivalent if the alphaEq
// interval lies inside the margin, even if it excludes zero; else different if
// the alpha interval excludes zero; else undecided.
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

// BlocksNeeded projects the number of blocks after which the interval would be
// as narrow as the margin, from an interval that stands on n blocks; 0 where
// the interval is unbounded and nothing can be said.
func BlocksNeeded(n int, v Interval, margin float64) int {
	if !v.Bounded() || margin <= 0 {
		return 0
	}
	half := (v.High - v.Low) / 2
	return int(math.Ceil(float64(n) * math.Pow(half/(margin/2), 2)))
}

// Narrow joins an interval with a later one that holds simultaneously with it:
// their intersection, with the later estimate. Where the later estimate lies
// outside the intersection the earlier interval stays as it was.
func Narrow(earlier, later Interval) Interval {
	v := Interval{later.Estimate, math.Max(earlier.Low, later.Low), math.Min(earlier.High, later.High)}
	if v.Low <= v.Estimate && v.Estimate <= v.High {
		return v
	}
	return earlier
}
