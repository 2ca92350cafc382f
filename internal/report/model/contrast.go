package model

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
)

// companion is the metric that is shown with the primary ones.
const companion = cost.CPU

// VerdictWord is the verdict as it is printed.
func VerdictWord(c *verdict.Contrast) string {
	switch {
	case c.Verdict == verdict.None:
		return noVerdict
	case c.Leaning != "":
		return "leaning " + string(c.Leaning)
	}
	return string(c.Verdict)
}

// EstimateText formats the point estimate.
func EstimateText(c *verdict.Contrast) string { return verdict.Change(c.Point()) }

// IntervalText formats the interval, or the range, named so, if there are too few
// blocks for an interval.
func IntervalText(c *verdict.Contrast) string {
	if c.RangeOnly() && c.N == 0 {
		return Missing
	}
	if c.RangeOnly() {
		return "range " + verdict.EndsText(c.Middle, c.Least, c.Most)
	}
	return verdict.EndsText(c.Estimate, c.Low, c.High)
}

// BlockCount formats the number of blocks of a contrast, with the look that gave the
// verdict or the number of blocks that a verdict would take.
func BlockCount(c *verdict.Contrast) string {
	text := fmt.Sprintf("n=%d", c.N)
	switch {
	case c.Unpaired && c.Values.N != c.Base.N:
		text = fmt.Sprintf("n=%d, %d", c.Values.N, c.Base.N)
	case c.Verdict == verdict.None:
	case c.Verdict == verdict.Inconclusive:
		if c.Projection > verdict.FarAway {
			text += fmt.Sprintf(" of over %d", verdict.FarAway)
		} else if c.Projection > c.N {
			text += fmt.Sprintf(" of ~%d", c.Projection)
		}
	case c.Look > 0 && c.Look != c.N:
		text += fmt.Sprintf(" at %d", c.Look)
	case c.Open && c.Projection > c.N:
		text += fmt.Sprintf(" of ~%d", c.Projection)
	}
	return text
}

// Remark is the remark that a verdict needs; "" if it needs none.
func Remark(c *verdict.Contrast) string {
	switch {
	case c.InsideMargin:
		return "a real difference, inside the margin"
	case c.Withheld(), c.Verdict == verdict.None && !slices.ContainsFunc(c.Warnings, func(w verdict.Warning) bool { return w.Code == verdict.FewBlocks }):
		return c.Reason.String() // few blocks are reported once, in the notes
	case mediansOppose(c):
		return "the medians are over all blocks, the change is within each"
	}
	return ""
}

// mediansOppose reports whether the medians of the two sides differ visibly in another
// direction than the change, of which a reader wonders.
func mediansOppose(c *verdict.Contrast) bool {
	if c.Verdict == verdict.Equivalent || c.Unpaired || c.Values.Median <= 0 || c.Base.Median <= 0 {
		return false
	}
	ratio := math.Log(c.Values.Median / c.Base.Median)
	return ratio*c.Estimate < 0 && min(math.Abs(ratio), math.Abs(c.Estimate)) >= leastShown
}

// leastShown is the least log ratio that is not printed as 0.0%.
const leastShown = .0005

// Tails compares the tails over the blocks.
func Tails(c *verdict.Contrast) string {
	if c.TailP95 <= 0 || c.TailP99 <= 0 {
		return Missing
	}
	return verdict.ChangeOf(c.TailP95) + ", " + verdict.ChangeOf(c.TailP99)
}

// Value is a metric of a trial.
func Value(t *rundir.Trial, metric string) (float64, bool) {
	if t.Status != rundir.OK {
		return 0, false
	}
	x, ok := t.Metrics[metric]
	return x, ok
}

// noRatio is the reason for values of 0 or less.
const noRatio = "values of 0 or less have no ratio"

// NoRatioReason is the reason of such a contrast.
func NoRatioReason(c *verdict.Contrast) string {
	if c.Reason.Code != verdict.NotPositive && c.Reason.Code != verdict.NotPositiveOne && c.Reason.Code != verdict.Told {
		return c.Reason.String()
	}
	return noRatio
}
