package report

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/cost"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

type contrast = verdict.Contrast

// companion is the metric that is shown beside the primary ones.
const companion = cost.CPU

// word is the verdict as it is printed.
func word(c *contrast) string {
	if c.Verdict == verdict.None {
		return "no verdict"
	}
	return string(c.Verdict)
}

// ranged says whether a contrast has but a median and a range to show.
func ranged(c *contrast) bool { return c.Verdict == verdict.None && !c.Unpaired }

// middle is the log ratio to show: the estimate, or the median of the blocks
// where there are too few for an estimate with an interval.
func middle(c *contrast) float64 {
	if ranged(c) {
		return c.Middle
	}
	return c.Estimate
}

// ends are both ends of the interval; of the range, and called so, where there
// are too few blocks for an interval.
func ends(c *contrast) string {
	if ranged(c) && c.N == 0 {
		return missing
	}
	if ranged(c) {
		return "range " + interval(c.Least, c.Most)
	}
	return interval(c.Low, c.High)
}

// counts prints how many blocks a contrast has, and the look at which its
// verdict fell or how many blocks a verdict would take.
func counts(c *contrast) string {
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
	}
	return text
}

// remark is what has to be said with a verdict.
func remark(c *contrast) string {
	switch {
	case c.InsideMargin:
		return "a real difference, inside the margin"
	case c.Verdict == verdict.None && !slices.ContainsFunc(c.Warnings, func(w verdict.Warning) bool { return w.Code == verdict.FewBlocks }):
		return c.Reason // that there are few blocks stands in the notes, once
	}
	return ""
}

// tails compares the tails over the blocks.
func tails(c *contrast) string {
	if c.TailP95 <= 0 || c.TailP99 <= 0 {
		return missing
	}
	return change(math.Log(c.TailP95)) + ", " + change(math.Log(c.TailP99))
}

// valueOf is a metric of a trial.
func valueOf(t *rundir.Trial, metric string) (float64, bool) {
	if t.Status != rundir.OK {
		return 0, false
	}
	x, ok := t.Metrics[metric]
	return x, ok
}
