package verdict

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"tare/internal/stats"
	"tare/internal/usage/cost"
)

// shown is the interval that is printed, with the differences that it was computed from.
type shown struct {
	d        []float64
	alpha    float64
	interval stats.Interval
}

// evaluate brings the contrasts of a family up to date.
func (b *Book) evaluate(f *family) {
	if b.plan.Design.Order != OrderUnpaired {
		b.judge(f)
	}
	for _, e := range f.entries {
		b.fill(e)
		e.stale, e.undescribed = false, true
	}
}

// fill brings the verdict of a contrast up to date with its judgement.
func (b *Book) fill(e *entry) {
	c, design := &e.contrast, b.plan.Design
	*c = Contrast{Workload: c.Workload, Level: c.Level, Metric: c.Metric, Unit: c.Unit, Better: c.Better, Primary: c.Primary,
		Environment: c.Environment, Baseline: c.Baseline, BaseLevel: c.BaseLevel, Part: c.Part, Name: c.Name, Orders: c.Orders,
		Margin: c.Margin, Family: c.Family, Companion: c.Companion, Label: b.labels[c.Environment], BaselineLabel: b.labels[c.Baseline],
		Confidence: float64(design.Confidence),
		Estimate:   math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Middle: math.NaN(), Least: math.NaN(), Most: math.NaN()}
	if design.Order == OrderUnpaired {
		e.s, e.base = joined(e.of), joined(e.over)
		b.describeUnpaired(e)
		return
	}
	p := e.pairs()
	d := p.d
	c.N, c.Rounds = len(d), p.roundsRange()
	if design.Blocks.Open && !e.value {
		b.openEnded(e, p)
	} else {
		b.conclude(e, p)
	}
	b.settle(e)
	b.warn(e, p)
	if reason := b.failing(e); !reason.IsZero() && !c.isShare() {
		c.Warnings = slices.DeleteFunc(c.Warnings, func(w Warning) bool { return w.Code == GivenUp })
		c.withdraw(c.Block, Failing, reason)
	}
	switch {
	case c.NoRatio():
		// The ratios of the other blocks say nothing of these.
		c.N, c.Rounds, c.Estimate = 0, nil, math.NaN()
	case c.IntervalN == 0 && len(d) > 0:
		c.Estimate = stats.NewWalsh(d).Median()
	}
}

// describe fills in the values that no verdict depends on.
func (e *entry) describe() {
	c := &e.contrast
	if c.Unpaired {
		return // describeUnpaired has filled it in
	}
	e.describeLengthBias()
	e.describeSimultaneous()
	p := e.pairs()
	d, blocks := p.d, p.blocks
	values, base := e.s.values(blocks), e.base.values(blocks)
	c.Values, c.Base = SideOf(values), SideOf(base)
	if len(d) == 0 || c.NoRatio() {
		// No block pairs the sides, but either may have values to show.
		c.Values, c.Base = SideOf(e.s.values(e.s.blocks)), SideOf(e.base.values(e.base.blocks))
		return
	}
	c.Middle, c.Least, c.Most = stats.Median(d), slices.Min(d), slices.Max(d)
	c.OutlierShare = stats.OutlierShare(d)
	e.describeNodes(d, blocks)
	c.TailP95, c.TailP99 = stats.QuantileRatio(values, base, .95), stats.QuantileRatio(values, base, .99)
}

// describeSimultaneous fills in the interval that holds for all of the family together.
func (e *entry) describeSimultaneous() {
	c := &e.contrast
	if c.IntervalN == 0 || c.NoRatio() || e.course.D == nil {
		return
	}
	v := e.estimate(e.course.D[:c.IntervalN], c.Alpha/float64(c.Family))
	c.Simultaneous = Ends{v.Low, v.High}
}

// logMargin is the margin as a log ratio.
func (c *Contrast) logMargin() float64 { return math.Log1p(c.Margin) }

// conclude translates the judgement of a contrast into a verdict with an interval.
func (b *Book) conclude(e *entry, p *paired) {
	c, j, rules := &e.contrast, e.judged, b.rules(&e.contrast)
	c.Alpha = rules.Rate * j.Part
	if b.byStep() {
		c.Alpha /= float64(c.Family) // the parts are read together
	}
	c.AlphaEq = 2 * c.Alpha
	c.Looks, c.Verdict = j.Looks, None
	if j.N < stats.LeastBlocks {
		return
	}
	v := e.interval(p.d[:j.N], c.Alpha, j.Closed)
	c.Estimate, c.Low, c.High, c.IntervalN, c.Look = v.Estimate, v.Low, v.High, j.N, j.N
	c.Precise = v.Precise(rules.Margin, rules.Precision)
	switch {
	case j.Equivalent:
		c.Verdict, c.InsideMargin = Equivalent, j.Different
	case j.Different:
		c.Verdict = c.direction(j.Above)
	default:
		c.Verdict = Inconclusive
		if v.ExcludesZero() {
			c.Leaning = c.direction(v.Low > 0)
		}
	}
	if !j.Decided() || !j.Closed {
		c.Projection = stats.BlocksNeeded(j.N, v, c.Alpha, b.aim(c))
	}
	switch {
	case j.Block > 0:
		c.Block = j.Block
	case j.Closed && (j.Equivalent || !b.pending(e.family)):
		c.Block = p.blocks[len(p.blocks)-1]
	}
}

// direction is the word for a value that is above or below the baseline's.
func (c *Contrast) direction(above bool) Verdict {
	if above == (c.Better == "higher") {
		return Faster
	}
	return Slower
}

// aim is the half-width that the interval of a contrast needs.
func (b *Book) aim(c *Contrast) float64 {
	r, v := b.rules(c), stats.Interval{Estimate: c.Estimate, Low: c.Low, High: c.High}
	if b.plan.Design.Leaves() {
		return v.Aim(r.Margin, r.Precision)
	}
	return max(math.Abs(v.Estimate), r.Margin-math.Abs(v.Estimate)) // nothing waits for precision
}

// interval of these differences. While no verdict depends on it, and there are hardly more
// differences than before, it would hardly be another.
func (e *entry) interval(d []float64, alpha float64, final bool) stats.Interval {
	known := len(e.shown.d)
	same := known > 0 && known <= len(d) && e.shown.alpha == alpha && slices.Equal(e.shown.d, d[:known])
	if !same || known < len(d) && (final || 100*(len(d)-known) >= known) {
		e.shown = shown{slices.Clone(d), alpha, e.estimate(d, alpha)}
	}
	return e.shown.interval
}

// estimate with its interval, of differences or of values.
func (e *entry) estimate(d []float64, alpha float64) stats.Interval {
	if e.value {
		return stats.Value(d, alpha)
	}
	return stats.HodgesLehmann(d, alpha)
}

// openEnded decides after every block, with intervals that are valid at any time.
func (b *Book) openEnded(e *entry, p *paired) {
	c, d := &e.contrast, p.d
	rate := 1 - c.Confidence
	c.Alpha, c.Verdict = rate/float64(c.Family), None
	c.AlphaEq = 2 * c.Alpha
	if e.open.N == 0 || e.open.N > len(d) || e.open.Outcome == stats.Undecided || !slices.Equal(e.openOf, d[:e.open.N]) {
		e.open = stats.DecideOpen(d, c.Family, rate, c.logMargin())
		e.openOf = slices.Clone(d[:e.open.N])
	}
	v := e.open
	if v.N == 0 || c.N < stats.LeastBlocks {
		return
	}
	c.Estimate, c.Low, c.High, c.IntervalN, c.Look = v.Interval.Estimate, v.Interval.Low, v.Interval.High, v.N, v.N
	switch v.Outcome {
	case stats.Equivalent:
		c.Verdict, c.InsideMargin = Equivalent, v.Interval.ExcludesZero()
	case stats.Different:
		c.Verdict = c.direction(v.Interval.Estimate > 0)
	default:
		c.Verdict = Inconclusive
		c.Projection = stats.BlocksNeeded(v.N, v.Interval, c.Alpha, b.aim(c))
	}
	if v.Outcome != stats.Undecided {
		c.Block = p.blocks[v.N-1]
	}
}

// allTried reports whether both sides have been tried in every block of the plan.
func (b *Book) allTried(e *entry) bool {
	before := b.turns*(b.plan.Design.Blocks.Max-1) + b.abandoned // the last turns
	last := min(e.s.last(), e.base.last())
	return !b.plan.Design.Blocks.Open && last > before && (e.held == 0 || e.held >= last)
}

// settle decides whether more blocks can still bring a verdict, and why not.
func (b *Book) settle(e *entry) {
	c := &e.contrast
	if c.isShare() && !e.value {
		c.withdraw(max(e.s.last(), e.base.last()), Shares, Reason{Code: Shares})
		return
	}
	for name, s := range b.sides(e) {
		switch {
		case e.s.allZero() && e.base.allZero() && cost.Named(c.Metric):
			c.withdraw(max(e.s.nonPositive, e.base.nonPositive), Zero, Reason{Code: Zero})
			return
		case s.nonPositive > 0 && s.nonPositiveValue == 0 && cost.Named(c.Metric):
			c.withdraw(s.nonPositive, Zero, Reason{Code: Zero, Side: name, Number: s.nonPositive})
			return
		case s.nonPositive > 0 && (c.Block == 0 || s.nonPositive <= c.Block):
			c.withdraw(s.nonPositive, NotPositive, Reason{Code: NotPositive, Side: name, Metric: c.Metric, Value: s.nonPositiveValue, Number: s.nonPositive})
			return
		case s.gaveUp > 0:
			// Values that arrive later do not reopen the contrast: what was
			// dropped from a run stays dropped.
			c.withdraw(s.gaveUp, GivenUp, s.why(name))
			return
		}
	}
	switch {
	case c.Block > 0:
	case b.allTried(e) && (c.Verdict == None || !b.pending(e.family)):
		c.Block = b.plan.Design.Blocks.Max * b.turns
	case b.ended():
		c.Block = max(1, e.s.last(), e.base.last())
	}
	c.Open = c.Block == 0
	if c.Verdict != None {
		return
	}
	switch {
	case c.N == 0:
		c.Reason = Reason{Code: NoPairs}
	case c.N < stats.LeastBlocks:
		c.Reason = Reason{Code: FewBlocks, Number: c.N}
	default:
		c.Reason = Reason{Code: Unlooked, Number: c.N}
	}
}

// sides iterates over the two series of a contrast, that of the environment first.
func (b *Book) sides(e *entry) iter.Seq2[string, *series] {
	c := e.contrast.sided()
	return func(yield func(string, *series) bool) {
		_ = yield(c.Environment, e.s) && yield(c.Baseline, e.base)
	}
}

func blocksOf(n int) string {
	if n == 1 {
		return "1 block"
	}
	return fmt.Sprintf("%d blocks", n)
}

// SideOf summarises values.
func SideOf(values []float64) Side {
	if len(values) == 0 {
		return Side{}
	}
	return Side{N: len(values), Median: stats.Median(values), Least: slices.Min(values), Most: slices.Max(values)}
}
