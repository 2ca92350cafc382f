package stats

import "math"

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
// shrinks with the square root of n. That of an extended range shrinks with the
// extension, while the range grows as that of normal values does.
func BlocksNeeded(n int, v Interval, alpha, wanted float64) int {
	if !v.Bounded() || wanted <= 0 {
		return 0
	}
	half := (v.High - v.Low) / 2
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
