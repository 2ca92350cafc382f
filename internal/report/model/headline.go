package model

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/base/quantity"
	"tare/internal/verdict"
)

// onlyEmulation is the caution for every environment with that label.
const onlyEmulation = "this guest ran under software emulation: its figures say nothing about a virtual machine with KVM"

// noVerdict is the wording for comparisons without one.
const noVerdict = "no verdict"

// headWords are the words of comparisons in the order in which they are told: those that a
// confound affects stand apart.
func headWords() (all []string) {
	for _, word := range []string{"slower", "faster", "equivalent", "leaning slower", "leaning faster", "inconclusive", "looks slower", "looks faster", "looks equivalent", "looks undecided", "too few results for an interval", noVerdict} {
		all = append(all, word, word+Mark)
	}
	return all
}

func headWord(c *verdict.Contrast) string {
	if c.Unpaired && !c.Withheld() {
		return c.Reason.String() + ConfoundMark(c)
	}
	return VerdictWord(c) + ConfoundMark(c)
}

// costOf is the log ratio of a contrast in the direction that is worse.
func costOf(c *verdict.Contrast) float64 {
	if c.Better == "higher" {
		return -c.Estimate
	}
	return c.Estimate
}

// Margin is the plan's margin as a log ratio.
func (v *Report) Margin() float64 { return math.Log1p(float64(v.Plan.Design.Margin)) }

// Overview is the run in one line: how much of it there is.
func (v *Report) Overview() string {
	parts := []string{
		"baseline " + v.Plan.Baseline,
		quantity.Counted(v.Blocks, "block", "blocks") + v.onNodes(),
		quantity.Counted(len(v.Trials), "trial", "trials"),
	}
	if v.Manifest.Import != nil {
		parts = []string{"imported", parts[0], quantity.Counted(len(v.Trials), "result", "results")}
	}
	if v.Bad > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", v.Bad))
	}
	if v.Out > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", v.Out))
	}
	d := v.Plan.Design
	intervals := "each interval at " + d.Confidence.String()
	if d.Order == verdict.OrderUnpaired {
		intervals = d.Confidence.String() + " intervals"
	}
	return strings.Join(append(parts, "margin "+d.Margin.String(), intervals), ", ")
}
