package selftest

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Design is how the samples of an outcome were taken.
type Design string

// The designs.
const (
	Alternating Design = "alternating" // as tare takes them
	Usual       Design = "usual"       // all of one environment, then all of the other, and Welch's t-test
)

// Outcome is what one comparison of two environments said about a known effect.
// Estimate, Low and High are log ratios.
type Outcome struct {
	Environment string  `json:"environment"`
	Effect      string  `json:"effect"`
	Work        float64 `json:"more_work"` // as a share
	Design      Design  `json:"design"`
	Cycle       int     `json:"cycle"`
	// Truth is the log ratio of the two amounts of work; nil where only the direction
	// is known.
	Truth    *float64        `json:"truth"`
	Verdict  verdict.Verdict `json:"verdict"`
	Open     bool            `json:"open,omitempty"` // the time ended before a verdict
	Estimate float64         `json:"estimate"`
	Low      float64         `json:"low"`
	High     float64         `json:"high"`
	N        int             `json:"n"`       // blocks, or samples of each side
	Seconds  float64         `json:"seconds"` // of measuring, both sides
	base     float64         // median of the baseline, in seconds
}

// Wrong reports whether the verdict contradicts the effect.
func (o Outcome) Wrong(margin float64) bool {
	switch o.Verdict {
	case verdict.Slower:
		return o.Null()
	case verdict.Faster:
		return true
	case verdict.Equivalent:
		return o.above(margin)
	}
	return false
}

// Null reports whether there is no effect: the same environment twice.
func (o Outcome) Null() bool { return o.Truth != nil && *o.Truth == 0 }

// above reports whether the effect is not inside the margin, so that a verdict has
// to be slower. A quota is chosen to be.
func (o Outcome) above(margin float64) bool {
	return o.Truth == nil || *o.Truth >= math.Log1p(margin)*(1-1e-9)
}

// Holds reports whether the interval contains the effect; known is false where that
// cannot be said.
func (o Outcome) Holds() (holds, known bool) {
	if o.Truth == nil {
		return false, false
	}
	return o.Low <= *o.Truth && *o.Truth <= o.High, true
}

// alternatingOutcome is what a run of two environments alone would have said after
// the trials of a run of more: the error rate is not shared with the others, and
// the run ends with the verdict. It is false before there is an interval.
func alternatingOutcome(plan *study.Plan, trials []rundir.Trial, environment string) (Outcome, bool) {
	pair := *plan
	pair.Environments = []study.Environment{*plan.Environment(baseline), *plan.Environment(environment)}
	until := func(block int) []rundir.Trial {
		return slices.DeleteFunc(slices.Clone(trials), func(t rundir.Trial) bool {
			return t.Environment != baseline && t.Environment != environment || t.Block > block
		})
	}
	c, ok := contrastOf(&pair, until(math.MaxInt))
	if !ok {
		return Outcome{}, false
	}
	last := math.MaxInt
	if c.Block > 0 {
		last = c.Block
		c, _ = contrastOf(&pair, until(last))
	}
	o := Outcome{
		Design: Alternating, Verdict: c.Verdict, Open: c.Open, Estimate: c.Estimate, Low: c.Low, High: c.High, N: c.N, base: c.Base.Median,
	}
	for _, t := range until(last) {
		o.Seconds += t.HostSeconds
	}
	return o, true
}

func contrastOf(pair *study.Plan, trials []rundir.Trial) (verdict.Contrast, bool) {
	for _, c := range verdict.Contrasts(pair, trials, rundir.Manifest{}) {
		if c.Metric == metric {
			return c, c.Bounded() && c.Verdict != verdict.None
		}
	}
	return verdict.Contrast{}, false
}

// usualOutcome is what the usual practice says: all samples of the baseline against
// all samples of the environment. It is false where a side has not all of them.
func usualOutcome(trials []rundir.Trial, environment string) (Outcome, bool) {
	logs, seconds := map[string][]float64{}, 0.0
	for _, t := range trials {
		if v := t.Metrics[metric]; v > 0 && (t.Environment == baseline || t.Environment == environment) {
			logs[t.Environment] = append(logs[t.Environment], math.Log(v))
			seconds += t.HostSeconds
		}
	}
	if len(logs[baseline]) < usualSamples || len(logs[environment]) < usualSamples {
		return Outcome{}, false
	}
	o := Outcome{Design: Usual, Verdict: verdict.Inconclusive, N: usualSamples, Seconds: seconds, base: math.Exp(stats.Median(logs[baseline]))}
	o.Estimate, o.Low, o.High = welch(logs[environment], logs[baseline])
	switch {
	case o.Low > 0:
		o.Verdict = verdict.Slower
	case o.High < 0:
		o.Verdict = verdict.Faster
	}
	return o, true
}

// welch is the difference of two means with its 95% interval, for samples of
// different variance (Welch, The generalization of "Student's" problem when several
// different population variances are involved, Biometrika 34, 1947; degrees of
// freedom: Satterthwaite, An approximate distribution of estimates of variance
// components, Biometrics Bulletin 2, 1946).
func welch(x, y []float64) (difference, low, high float64) {
	mx, vx := stat.MeanVariance(x, nil)
	my, vy := stat.MeanVariance(y, nil)
	difference = mx - my
	nx, ny := float64(len(x)), float64(len(y))
	a, b := vx/nx, vy/ny
	if a+b == 0 {
		return difference, difference, difference
	}
	df := (a + b) * (a + b) / (a*a/(nx-1) + b*b/(ny-1))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(.975) * math.Sqrt(a+b)
	return difference, difference - half, difference + half
}
