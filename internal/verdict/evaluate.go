package verdict

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"tare/internal/stats"
	"tare/internal/usage/cost"
)

// lastDecision is the latest decision with the differences it was computed from.
// While those are a prefix of the current ones, it need not be computed again.
type lastDecision struct {
	d        []float64
	decision stats.Decision
}

// evaluate brings the verdict of a contrast up to date.
func (b *Book) evaluate(e *entry) {
	c, design := &e.contrast, b.plan.Design
	e.s, e.base = joined(e.of), joined(e.over)
	*c = Contrast{Workload: c.Workload, Level: c.Level, Metric: c.Metric, Unit: c.Unit, Better: c.Better, Primary: c.Primary,
		Environment: c.Environment, Baseline: c.Baseline, BaseLevel: c.BaseLevel, Part: c.Part, Name: c.Name, Orders: c.Orders,
		Margin: c.Margin, Family: c.Family, Companion: c.Companion, Label: b.labels[c.Environment], BaselineLabel: b.labels[c.Baseline],
		Estimate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Middle: math.NaN(), Least: math.NaN(), Most: math.NaN()}
	if design.Order == OrderUnpaired {
		b.describeUnpaired(e)
		return
	}
	p := e.pairs()
	d := p.d
	c.N, c.Rounds = len(d), p.roundsRange()
	var v stats.Decision
	switch {
	case design.Blocks.Fixed:
		v = b.fixed(e, d)
	case design.Blocks.Open:
		v = b.openEnded(e, d)
	default:
		v = b.sequential(e, d)
	}
	c.conclude(v)
	if v.Outcome != stats.Undecided && v.N > 0 {
		c.Block = p.blocks[v.N-1]
	}
	b.settle(e)
	b.warn(e, p)
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

// logMargin is the margin as a log ratio.
func (c *Contrast) logMargin() float64 { return math.Log1p(c.Margin) }

// sequential decides at the interim analyses: the calibrated numbers of blocks.
func (b *Book) sequential(e *entry, d []float64) stats.Decision {
	c := &e.contrast
	row, kept := stats.FamilyFor(c.Family, float64(b.plan.Design.Confidence))
	c.Alpha, c.AlphaEq = stats.Levels(row)
	c.Confidence = kept
	last := stats.LastLook(len(d))
	v := e.recall(d[:last], true, func(last stats.Decision, d []float64) stats.Decision {
		return stats.Continue(last, d, row, c.logMargin())
	})
	for _, l := range stats.Looks() {
		if l <= v.N {
			c.Looks = append(c.Looks, l)
		}
	}
	c.show(v)
	if decided(v) && last > v.N {
		// The intervals of all looks hold simultaneously, so later blocks may narrow
		// this one.
		c.narrow(v.Interval, stats.HodgesLehmann(d[:last], c.Alpha), last)
	}
	return v
}

// fixed decides once, when all blocks have been tried on both sides.
func (b *Book) fixed(e *entry, d []float64) stats.Decision {
	c := &e.contrast
	c.Confidence = float64(b.plan.Design.Confidence)
	c.Alpha = 1 - c.Confidence
	if b.byStep() {
		c.Alpha /= float64(c.Family) // Bonferroni: the parts are read together
	}
	c.AlphaEq = 2 * c.Alpha
	if len(d) < stats.LeastBlocks {
		return stats.Decision{Outcome: stats.Undecided}
	}
	tried := b.allTried(e)
	if known := len(e.last.d); !tried && len(d) >= known && 100*(len(d)-known) < known && slices.Equal(e.last.d, d[:known]) {
		d = e.last.d // no verdict falls yet, and its interval would hardly be another
	}
	v := e.recall(d, false, func(_ stats.Decision, d []float64) stats.Decision {
		return stats.DecideOnce(d, c.Alpha, c.AlphaEq, c.logMargin())
	})
	c.show(v)
	if !tried {
		v.Outcome = stats.Undecided
		return v
	}
	c.Looks = []int{v.N}
	if v.Outcome == stats.Undecided {
		v.Outcome = stats.Inconclusive
	}
	return v
}

// openEnded decides after every block, with intervals that are valid at any time.
func (b *Book) openEnded(e *entry, d []float64) stats.Decision {
	c := &e.contrast
	c.Confidence = float64(b.plan.Design.Confidence)
	rate := 1 - c.Confidence
	c.Alpha = rate / float64(c.Family)
	c.AlphaEq = 2 * c.Alpha
	v := e.recall(d, true, func(_ stats.Decision, d []float64) stats.Decision {
		return stats.DecideOpen(d, c.Family, rate, c.logMargin())
	})
	c.show(v)
	if decided(v) && len(d) > v.N {
		c.narrow(v.Interval, stats.OpenInterval(d, c.Alpha), len(d))
	}
	return v
}

// recall decides about d and continues from the last decision if that was about a
// prefix of d.
func (e *entry) recall(d []float64, sticks bool, decide func(last stats.Decision, d []float64) stats.Decision) stats.Decision {
	last := stats.Decision{Outcome: stats.Undecided}
	if old := e.last.d; len(old) <= len(d) && slices.Equal(old, d[:len(old)]) && len(old) > 0 {
		last = e.last.decision
		if len(old) == len(d) || sticks && decided(last) {
			return last
		}
	}
	if len(d) > 0 {
		last = decide(last, d)
		e.last = lastDecision{slices.Clone(d), last}
	}
	return last
}

func decided(v stats.Decision) bool {
	return v.Outcome == stats.Different || v.Outcome == stats.Equivalent
}

func (c *Contrast) show(v stats.Decision) {
	if v.N == 0 || c.N < stats.LeastBlocks {
		return
	}
	c.Low, c.High, c.IntervalN = v.Interval.Low, v.Interval.High, v.N
	c.Estimate = v.Interval.Estimate
}

func (c *Contrast) narrow(decisive, later stats.Interval, n int) {
	v := stats.Narrow(decisive, later)
	if v == decisive {
		return
	}
	c.Estimate, c.Low, c.High, c.IntervalN = v.Estimate, v.Low, v.High, n
}

// conclude translates the outcome of the statistics into a verdict.
func (c *Contrast) conclude(v stats.Decision) {
	c.Verdict = None
	if c.IntervalN == 0 {
		return
	}
	c.Look = v.N
	switch v.Outcome {
	case stats.Equivalent:
		c.Verdict = Equivalent
		c.InsideMargin = v.Interval.ExcludesZero()
	case stats.Different:
		c.Verdict = Slower
		if (v.Interval.Estimate > 0) == (c.Better == "higher") {
			c.Verdict = Faster
		}
	default:
		c.Verdict = Inconclusive
		c.Projection = stats.BlocksNeeded(v.N, v.Interval, c.Alpha, c.logMargin())
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
	if c.Block == 0 && b.allTried(e) {
		c.Block = b.plan.Design.Blocks.Max * b.turns
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
