package stats

import (
	"math"
	"slices"
)

// The stakes that the signed-rank e-process mixes with equal weights (method of
// mixtures: Robbins, Statistical methods related to the law of the iterated
// logarithm, 1970).
var lambdas = [...]float64{.25, .5, 1, 2, 4}

// Evidence is the signed-rank e-process against one centre, updated with each
// difference. Under a distribution symmetric about the centre it is a test
// martingale, so that by Ville's inequality (Étude critique de la notion de
// collectif, 1939) it ever exceeds 1/a with probability at most a. Anytime-valid
// inference from such processes: Howard, Ramdas, McAuliffe and Sekhon,
// Time-uniform, nonparametric, nonasymptotic confidence sequences, 2021.
type Evidence struct {
	centre      float64
	sizes       []float64 // |d - centre| so far, in order of size
	plus, minus [len(lambdas)]float64
}

// NewEvidence returns the e-process against the hypothesis that the differences
// are symmetric about centre.
func NewEvidence(centre float64) *Evidence { return &Evidence{centre: centre} }

// Add updates the process with the next difference. Its weight w is its sequential
// rank (Reynolds, A sequential signed-rank test for symmetry, 1975): the share of
// the differences so far, including itself, that are no farther from the centre.
// Its sign s is a fair coin under the hypothesis, so that the factor
// exp(λws)/cosh(λw) has the mean 1.
func (e *Evidence) Add(d float64) {
	x := d - e.centre
	size := math.Abs(x)
	at, _ := slices.BinarySearch(e.sizes, size)
	e.sizes = slices.Insert(e.sizes, at, size)
	notFarther := at
	for notFarther < len(e.sizes) && e.sizes[notFarther] <= size {
		notFarther++
	}
	if x == 0 {
		return // it has no sign
	}
	w := float64(notFarther) / float64(len(e.sizes))
	if x < 0 {
		w = -w
	}
	for i, l := range lambdas {
		// lw - ln cosh(lw), and the same for -lw.
		plus := math.Ln2 - math.Log1p(math.Exp(-2*l*w))
		e.plus[i] += plus
		e.minus[i] += plus - 2*l*w
	}
}

// LogAbove is the log of the e-value against "not above the centre".
func (e *Evidence) LogAbove() float64 { return logMeanExp(e.plus[:]) }

// LogBelow is the log of the e-value against "not below the centre".
func (e *Evidence) LogBelow() float64 { return logMeanExp(e.minus[:]) }

func logMeanExp(l []float64) float64 {
	top := slices.Max(l)
	sum := 0.0
	for _, v := range l {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum/float64(len(l)))
}

// evidence is the process after all of d.
func evidence(d []float64, centre float64) *Evidence {
	e := NewEvidence(centre)
	e.sizes = make([]float64, 0, len(d))
	for _, v := range d {
		e.Add(v)
	}
	return e
}

// OpenInterval is the Hodges-Lehmann estimate with a confidence sequence (Howard
// and others, 2021, section 1): an interval that holds at all numbers of
// differences simultaneously with error alpha. It is the set of centres that
// neither one-sided e-process rejects at alpha/2, and contains the set that the
// two-sided e-process does not reject at alpha. The sign and the sequential rank
// of each difference are monotonic in the centre, so each end is found by
// bisection.
func OpenInterval(d []float64, alpha float64) Interval {
	v := Interval{NewWalsh(d).Median(), math.Inf(-1), math.Inf(1)}
	if len(d) == 0 {
		return v
	}
	limit := math.Log(2 / alpha)
	low, high := slices.Min(d), slices.Max(d)
	// Below the smallest and above the largest difference the process is
	// constant: a centre that is not rejected there makes the end infinite.
	if evidence(d, math.Nextafter(low, math.Inf(-1))).LogAbove() >= limit {
		v.Low = kth(low, high, func(c float64) bool { return evidence(d, c).LogAbove() < limit })
	}
	if evidence(d, math.Nextafter(high, math.Inf(1))).LogBelow() >= limit {
		v.High = -kth(-high, -low, func(c float64) bool { return evidence(d, -c).LogBelow() < limit })
	}
	return v
}

// DecideOpen analyses d after every difference, for one contrast of a family of m,
// with a simultaneous error of alpha over the family and over all times:
// equivalent if both ends of the margin are rejected, each at alpha/m (TOST,
// Schuirmann 1987); else different if zero is rejected. The first outcome is
// final, and the intervals are those at its time; without one they are those of
// all of d.
func DecideOpen(d []float64, m int, alpha, margin float64) Decision {
	share := alpha / float64(m)
	v := Decision{}
	v.N, v.Outcome = openOutcome(d, share, margin)
	v.Interval = OpenInterval(d[:v.N], share)
	return v
}

// openOutcome is the first outcome at the level alpha, with the number of
// differences at that time.
func openOutcome(d []float64, alpha, margin float64) (int, Outcome) {
	zero, top, bottom := NewEvidence(0), NewEvidence(margin), NewEvidence(-margin)
	oneSided, twoSided := math.Log(1/alpha), math.Log(2/alpha)
	for i, x := range d {
		zero.Add(x)
		top.Add(x)
		bottom.Add(x)
		switch {
		case top.LogBelow() >= oneSided && bottom.LogAbove() >= oneSided:
			return i + 1, Equivalent
		case zero.LogAbove() >= twoSided || zero.LogBelow() >= twoSided:
			return i + 1, Different
		}
	}
	return len(d), Undecided
}
