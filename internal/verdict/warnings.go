package verdict

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/stats"
)

// withdraw closes a contrast, as of this block, that can have no verdict.
func (c *Contrast) withdraw(block int, code string, reason Reason) {
	c.Block, c.Verdict, c.Reason = block, None, reason
	c.Look, c.Looks, c.IntervalN, c.Projection, c.InsideMargin = 0, nil, 0, 0, false
	c.Low, c.High = math.Inf(-1), math.Inf(1)
	c.warning(code, "%s", reason)
}

// NoRatio reports whether a contrast was given up because of values of 0 or less.
func (c *Contrast) NoRatio() bool {
	return slices.ContainsFunc(c.Warnings, func(w Warning) bool { return w.Code == NotPositive || w.Code == Zero })
}

// Repeats reports whether a warning of the contrast says the same as its reason.
func (c *Contrast) Repeats(w Warning) bool {
	return c.Verdict == None && slices.Contains([]string{Zero, NotPositive, GivenUp}, w.Code)
}

func (c *Contrast) warning(code, format string, args ...any) {
	c.Warnings = append(c.Warnings, Warning{code, fmt.Sprintf(format, args...)})
}

// warn adds the warnings of a contrast.
func (b *Book) warn(e *entry, p *paired) {
	c, design := &e.contrast, b.plan.Design
	if design.Order == "sequential" {
		c.warning(Sequential, "not interleaved: all trials of one environment run before those of the next, so that drift of the machine looks like a difference")
	}
	if e.fresh == UnknownFresh {
		b.importWarnings(e)
	}
	if e.fresh == "run" {
		c.warning(OneInstance, "one instance served all blocks: the variation between instances was not measured")
	}
	if c.N > 0 && c.N < stats.LeastBlocks {
		c.warning(FewBlocks, "%s: too few for an interval, so only median and range are given", blocksOf(c.N))
	}
	if n := len(p.sparse); n > 0 {
		c.warning(FewRounds, "%s without a pair: fewer than half of the rounds have a value on both sides", blocksOf(n))
	}
	if n := len(p.apart); n > 0 {
		c.warning(NodesApart, "%s without a pair: the sides ran on different nodes", blocksOf(n))
	}
	if n := e.missing(c.N + len(p.sparse) + len(p.apart)); n > 0 && c.N > 0 && e.s.nonPositive == 0 && e.base.nonPositive == 0 {
		c.warning(MissingBlocks, "%s without a pair: a trial gave no value", blocksOf(n))
	}
	for _, side := range [][2]string{{c.Label, c.Environment}, {c.BaselineLabel, c.Baseline}} {
		if side[0] == emulated && (c.BaseLevel == "" || len(c.Warnings) == 0 || c.Warnings[len(c.Warnings)-1].Code != Emulation) {
			c.warning(Emulation, "%s ran under software emulation (tcg): this says nothing about virtual machines with hardware support", side[1])
		}
	}
	looks := stats.Looks()
	switch most := design.Blocks.Max; {
	case design.Blocks.Fixed && c.Family > 1 && !b.byStep():
		c.warning(FixedFamily, "the number of blocks is fixed: the error rate holds for each comparison, not for all %d of the family", c.Family)
	case design.Blocks.Fixed || design.Blocks.Open:
	case most < looks[0]:
		c.warning(Unlooked, "at most %s, but the first interim analysis is at %d: no verdict is possible (a number of blocks fixed in advance can give one from %d on)", blocksOf(most), looks[0], stats.LeastBlocks)
	case c.N > looks[len(looks)-1]:
		c.warning(UnusedBlocks, "%s after the last interim analysis, at %d, were not used", blocksOf(c.N-looks[len(looks)-1]), looks[len(looks)-1])
	}
}
