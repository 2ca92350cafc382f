package model

import (
	"cmp"
	"math"

	"tare/internal/verdict"

	"tare/internal/papers/score"
)

// Score rates the usable environments of a run, in the order of the study.
func Score(in Input, p *score.Profile) score.Sheet {
	v := New(in) // without the parts of a ladder, and with its rungs marked
	var environments []string
	for _, e := range v.Environments {
		if !e.Baseline && !e.Rung && e.Ran() {
			environments = append(environments, e.Name)
		}
	}
	figures := make([]score.Figure, len(v.Contrasts))
	for i := range v.Contrasts {
		figures[i] = rated(&v.Contrasts[i])
	}
	return score.Evaluate(p, environments, figures)
}

// rated converts a contrast to a figure of a profile.
func rated(c *verdict.Contrast) score.Figure {
	f := score.Figure{Figure: c.Figure(), Base: c.Base.Median}
	switch {
	case c.NoRatio():
		f.Missing = NoRatioReason(c)
	case c.N == 0:
		f.Missing = cmp.Or(c.Reason.CauseOf(c.Environment), c.Reason.String())
		if c.Reason.Code == verdict.Lacking {
			f.Missing = "the trials have none"
		}
	case c.IntervalN == 0:
		f.Ratio = math.Exp(c.Point())
	default:
		r := c.Ratio()
		f.Ratio, f.Low, f.High = r.Estimate, r.Low, r.High
	}
	return f
}
