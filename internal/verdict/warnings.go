package verdict

import (
	"math"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/stats"
)

// withdraw closes a contrast, as of this block, that can have no verdict.
func (c *Contrast) withdraw(block int, code string, reason Reason) {
	c.Block, c.Verdict, c.Reason = block, None, reason
	c.Look, c.Looks, c.IntervalN, c.Projection, c.InsideMargin = 0, nil, 0, 0, false
	c.Low, c.High = math.Inf(-1), math.Inf(1)
	c.warn(Warning{Code: code, Reason: reason})
}

// Withhold takes the verdict of a contrast that these confounds make meaningless, and with it
// the interval: median and range of the blocks are left.
func (c *Contrast) Withhold(confounds []string) {
	if c.N == 0 && !c.Unpaired || c.NoRatio() {
		return // there is none, for another reason
	}
	c.Verdict, c.Leaning, c.Reason = None, "", Reason{Code: Incomparable, Cause: strings.Join(confounds, ", ")}
	c.Look, c.Looks, c.IntervalN, c.Projection, c.InsideMargin, c.Open, c.Precise = 0, nil, 0, 0, false, false, false
	c.Low, c.High, c.Simultaneous, c.Nodes = math.Inf(-1), math.Inf(1), Ends{}, nil
}

// Confounded reports whether something besides the layer differs between the sides.
func (c *Contrast) Confounded() bool { return confounded(c.Warnings) }

func confounded(warnings []Warning) bool {
	return slices.ContainsFunc(warnings, func(w Warning) bool { return w.Code == Confound })
}

// Withheld reports whether a confound took the verdict of a contrast.
func (c *Contrast) Withheld() bool { return c.Reason.Code == Incomparable }

// NoRatio reports whether a contrast was given up because of values of 0 or less, or of
// failures.
func (c *Contrast) NoRatio() bool {
	return slices.ContainsFunc(c.Warnings, func(w Warning) bool { return slices.Contains([]string{NotPositive, Zero, Failing, Shares}, w.Code) })
}

// Barred reports whether a contrast can have no verdict, however many blocks there are.
func (c *Contrast) Barred() bool {
	return c.Verdict == None && slices.Contains([]string{Incomparable, Zero, NotPositive, GivenUp, Lacking, Failing, Shares}, c.Reason.Code)
}

// Repeats reports whether a warning of the contrast says the same as its reason.
func (c *Contrast) Repeats(w Warning) bool {
	return c.Verdict == None && slices.Contains([]string{Zero, NotPositive, GivenUp, Failing, Shares}, w.Code)
}

func (c *Contrast) warn(w Warning) { c.Warnings = append(c.Warnings, w) }

// warn adds the warnings of a contrast.
func (b *Book) warn(e *entry, p *paired) {
	c, design := &e.contrast, b.plan.Design
	if design.Order == "sequential" {
		c.warn(Warning{Code: Sequential})
	}
	if e.fresh == UnknownFresh {
		b.importWarnings(e)
	}
	if e.fresh == "run" {
		c.warn(Warning{Code: OneInstance})
	}
	if c.N > 0 && c.N < stats.LeastBlocks {
		c.warn(Warning{Code: FewBlocks, Number: c.N})
	}
	if n := len(p.sparse); n > 0 {
		c.warn(Warning{Code: FewRounds, Number: n})
	}
	if n := len(p.apart); n > 0 {
		c.warn(Warning{Code: NodesApart, Number: n})
	}
	if n := e.missing(c.N + len(p.sparse) + len(p.apart)); n > 0 && c.N > 0 && e.s.nonPositive == 0 && e.base.nonPositive == 0 {
		c.warn(Warning{Code: MissingBlocks, Number: n})
	}
	for _, side := range [][2]string{{c.Label, c.Environment}, {c.BaselineLabel, c.Baseline}} {
		if environment.Emulated(side[0]) && (c.BaseLevel == "" || len(c.Warnings) == 0 || c.Warnings[len(c.Warnings)-1].Code != Emulation) {
			c.warn(Warning{Code: Emulation, Side: side[1]})
		}
	}
	if b.after {
		c.warn(Warning{Code: UnusedBlocks})
	}
	if design.Precision == 0 && design.Leaves() && e.fresh != UnknownFresh {
		c.warn(Warning{Code: Earlier})
	}
}
