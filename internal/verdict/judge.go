package verdict

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"tare/internal/cost"
	"tare/internal/stats"
)

// leastBlocks is the smallest number of blocks that has a two-sided 95%
// interval at all.
const leastBlocks = 6

// memory is the last decision with the differences that it stands on: as long
// as those are the first ones of a contrast, nothing need be computed again.
type memory struct {
	d        []float64
	decision stats.Decision
}

// judge brings the verdict up to date, and all that belongs to it.
func (b *Book) judge(e *entry) {
	old, design := e.contrast, b.plan.Design
	e.s, e.base = joined(e.of), joined(e.over)
	e.contrast = Contrast{Workload: old.Workload, Level: old.Level, Metric: old.Metric, Unit: old.Unit, Better: old.Better,
		Primary: old.Primary, Environment: old.Environment, Baseline: old.Baseline, BaseLevel: old.BaseLevel, Part: old.Part, Name: old.Name, Orders: old.Orders, Margin: old.Margin, Family: old.Family,
		Companion: old.Companion, Label: b.labels[old.Environment], BaselineLabel: b.labels[old.Baseline],
		Estimate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Middle: math.NaN(), Least: math.NaN(), Most: math.NaN()}
	if design.Order == OrderUnpaired {
		b.compare(e)
		return
	}
	c := &e.contrast
	d, blocks := pairs(e.s, e.base)
	c.N = len(d)
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
		c.Block = blocks[v.N-1]
	}
	b.close(e)
	b.warn(e)
}

// describe fills in what no verdict stands on.
func (e *entry) describe() {
	c := &e.contrast
	if c.Unpaired {
		return // compare has said all
	}
	d, blocks := pairs(e.s, e.base)
	values, base := e.s.values(blocks), e.base.values(blocks)
	c.Values, c.Base = SideOf(values), SideOf(base)
	if len(d) == 0 {
		// Nothing is paired, and yet one side may have something to show.
		c.Values, c.Base = SideOf(e.s.values(e.s.blocks)), SideOf(e.base.values(e.base.blocks))
		return
	}
	if c.IntervalN == 0 {
		c.Estimate = stats.NewWalsh(d).Median()
	}
	c.Middle, c.Least, c.Most = stats.Median(d), slices.Min(d), slices.Max(d)
	c.OutlierShare = stats.OutlierShare(d)
	c.TailP95, c.TailP99 = stats.QuantileRatio(values, base, .95), stats.QuantileRatio(values, base, .99)
}

// logMargin is the margin as a log ratio.
func (c *Contrast) logMargin() float64 { return math.Log1p(c.Margin) }

// sequential looks at the calibrated numbers of blocks.
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
		// The intervals of all looks hold at once: later blocks may narrow it.
		c.narrow(v.Interval, stats.HodgesLehmann(d[:last], c.Alpha), last)
	}
	return v
}

// fixed looks once, when all blocks have been tried on both sides.
func (b *Book) fixed(e *entry, d []float64) stats.Decision {
	c := &e.contrast
	c.Confidence = float64(b.plan.Design.Confidence)
	c.Alpha = 1 - c.Confidence
	if b.byStep() {
		c.Alpha /= float64(c.Family) // parts are read side by side
	}
	c.AlphaEq = 2 * c.Alpha
	if len(d) < leastBlocks {
		return stats.Decision{Outcome: stats.Undecided}
	}
	v := e.recall(d, false, func(_ stats.Decision, d []float64) stats.Decision {
		return stats.DecideOnce(d, c.Alpha, c.AlphaEq, c.logMargin())
	})
	c.show(v)
	if !b.allTried(e) {
		v.Outcome = stats.Undecided
		return v
	}
	c.Looks = []int{v.N}
	if v.Outcome == stats.Undecided {
		v.Outcome = stats.Inconclusive
	}
	return v
}

// openEnded looks after every block.
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

// recall decides about d, going on from what it decided about the first of
// these differences; nothing is done twice.
func (e *entry) recall(d []float64, sticks bool, decide func(last stats.Decision, d []float64) stats.Decision) stats.Decision {
	last := stats.Decision{Outcome: stats.Undecided}
	if old := e.memory.d; len(old) <= len(d) && slices.Equal(old, d[:len(old)]) && len(old) > 0 {
		last = e.memory.decision
		if len(old) == len(d) || sticks && decided(last) {
			return last
		}
	}
	if len(d) > 0 {
		last = decide(last, d)
		e.memory = memory{slices.Clone(d), last}
	}
	return last
}

func decided(v stats.Decision) bool {
	return v.Outcome == stats.Different || v.Outcome == stats.Equivalent
}

func (c *Contrast) show(v stats.Decision) {
	if v.N == 0 || c.N < leastBlocks {
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

// conclude puts the outcome into words.
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
		c.Projection = stats.BlocksNeeded(v.N, v.Interval, c.logMargin())
	}
}

// allTried says whether both sides have been tried in every block of the plan.
func (b *Book) allTried(e *entry) bool {
	most := b.plan.Design.Blocks.Max
	return !b.plan.Design.Blocks.Open && e.s.last() >= most && e.base.last() >= most
}

// close finds out whether more blocks can still bring a verdict, and why not.
func (b *Book) close(e *entry) {
	c := &e.contrast
	for name, s := range b.sides(e) {
		switch {
		case e.s.nothing() && e.base.nothing() && cost.Named(c.Metric):
			c.withdraw(max(e.s.useless, e.base.useless), Zero, "0 on both sides: there is no ratio to make")
			return
		case s.useless > 0 && s.uselessValue == 0 && cost.Named(c.Metric):
			c.withdraw(s.useless, Zero, fmt.Sprintf("0 in %s in block %d: there is no ratio to make", name, s.useless))
			return
		case s.useless > 0 && (c.Block == 0 || s.useless <= c.Block):
			c.withdraw(s.useless, NotPositive, fmt.Sprintf("%s is %g in %s in block %d: only positive figures have ratios", c.Metric, s.uselessValue, name, s.useless))
			return
		case s.gaveUp > 0:
			// Figures that come later by chance do not open it again: what has
			// left a run stays out.
			c.withdraw(s.gaveUp, GivenUp, fmt.Sprintf("no figure from %s: %s", name, s.reason))
			return
		}
	}
	if c.Block == 0 && b.allTried(e) {
		c.Block = b.plan.Design.Blocks.Max
	}
	c.Open = c.Block == 0
	if c.Verdict != None {
		return
	}
	switch {
	case c.N == 0:
		c.Reason = "no block has a figure on both sides"
	case c.N < leastBlocks:
		c.Reason = fmt.Sprintf("%s: below %d there is no two-sided 95%% interval", blocksOf(c.N), leastBlocks)
	default:
		c.Reason = fmt.Sprintf("%s: the first look is at %d", blocksOf(c.N), stats.NextLook(0))
	}
}

// sides are the two series of a contrast, the environment's first.
func (b *Book) sides(e *entry) iter.Seq2[string, *series] {
	c := e.contrast.sided()
	return func(yield func(string, *series) bool) {
		_ = yield(c.Environment, e.s) && yield(c.Baseline, e.base)
	}
}

// withdraw closes a contrast, in this block, that can have no verdict.
func (c *Contrast) withdraw(block int, code, reason string) {
	c.Block, c.Verdict, c.Reason = block, None, reason
	c.Look, c.Looks, c.IntervalN, c.Projection, c.InsideMargin = 0, nil, 0, 0, false
	c.Low, c.High = math.Inf(-1), math.Inf(1)
	c.warning(code, "%s", reason)
}

func (c *Contrast) warning(code, format string, args ...any) {
	c.Warnings = append(c.Warnings, Warning{code, fmt.Sprintf(format, args...)})
}

// warn adds what must be kept in mind.
func (b *Book) warn(e *entry) {
	c, design := &e.contrast, b.plan.Design
	if design.Order == "sequential" {
		c.warning(Sequential, "not interleaved: all of one environment, then all of the next, so that a drift of the machine looks like a difference")
	}
	if e.fresh == UnknownFresh {
		b.importWarnings(e)
	}
	if e.fresh == "run" {
		c.warning(OneInstance, "one instance served all blocks: the variation between instances was not measured")
	}
	if c.N > 0 && c.N < leastBlocks {
		c.warning(FewBlocks, "%s: only the median and the range can be given", blocksOf(c.N))
	}
	if n := missing(e.s, e.base, c.N); n > 0 && c.N > 0 && e.s.useless == 0 && e.base.useless == 0 {
		c.warning(MissingBlocks, "%s without a pair, since a trial gave no figure", blocksOf(n))
	}
	for _, side := range [][2]string{{c.Label, c.Environment}, {c.BaselineLabel, c.Baseline}} {
		if side[0] == emulated && (c.BaseLevel == "" || len(c.Warnings) == 0 || c.Warnings[len(c.Warnings)-1].Code != Emulation) {
			c.warning(Emulation, "%s ran under software emulation (tcg): this says nothing about virtual machines with hardware support", side[1])
		}
	}
	looks := stats.Looks()
	switch most := design.Blocks.Max; {
	case design.Blocks.Fixed && c.Family > 1 && !b.byStep():
		c.warning(FixedFamily, "the number of blocks is fixed: the error rate is that of each comparison, not of the %d of the family together", c.Family)
	case design.Blocks.Fixed || design.Blocks.Open:
	case most < looks[0]:
		c.warning(Unlooked, "at most %s, but the first look is at %d: there can be no verdict (exactly so many blocks, fixed beforehand, can give one from %d on)", blocksOf(most), looks[0], leastBlocks)
	case c.N > looks[len(looks)-1]:
		c.warning(UnusedBlocks, "%s after the last look, at %d, were not used", blocksOf(c.N-looks[len(looks)-1]), looks[len(looks)-1])
	}
}

func blocksOf(n int) string {
	if n == 1 {
		return "1 block"
	}
	return fmt.Sprintf("%d blocks", n)
}

// SideOf sums up values.
func SideOf(values []float64) Side {
	if len(values) == 0 {
		return Side{}
	}
	return Side{N: len(values), Median: stats.Median(values), Least: slices.Min(values), Most: slices.Max(values)}
}
