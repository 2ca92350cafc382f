package stats

import "math"

// LeastBlocks is the least number of differences with an interval. A bound of the
// extended range exists from two on, but says nothing useful below four: three
// differences at a level of 1% are extended by 4.5 times their range.
const LeastBlocks = 4

// extension is the t for which [least - t*range, most + t*range] misses the centre
// of n differences with probability at most alpha, where each difference is
// symmetric and unimodal about the centre: (1/(2(1+t)))^(n-1) = alpha (Lanke,
// Interval estimation of a median, 1974). It is for levels at which the range alone
// is too short.
//
// A variable that is symmetric and unimodal about 0 is a uniform one on (-a, a) with
// a random a (Khinchin), so take the a as given. The interval misses 0 if all signs
// are equal and the least absolute value is more than t/(1+t) of the largest. If all
// a are equal, the probability is 2*2^-n*(1/(1+t))^(n-1). Other a have a smaller one:
// log|x| is log a minus an exponential variable, whose density is log-concave, and
// "all log|x| lie within a distance" is a convex set. The probability is therefore
// log-concave in the vector of the log a (Prékopa). It does not change when they are
// permuted or all shifted, so it is largest where all are equal. The a of different
// differences may therefore differ, and may depend on one another.
func extension(n int, alpha float64) float64 {
	return math.Pow(alpha, -1/float64(n-1))/2 - 1
}
