package model

import (
	"math"

	"tare/internal/base/lists"
	"tare/internal/verdict"
)

// WithinRow compares a level of an environment with more neighbours or copies with
// the level that has the fewest.
type WithinRow struct {
	Workload, Level, BaseLevel, Metric, Unit, Better string
	Shown, Label, Name                               string
	Contrast                                         *verdict.Contrast
}

// WithinRows of the metrics that workloads are judged by.
func (v *Report) WithinRows() (rows []WithinRow) {
	for i := range v.within {
		c := &v.within[i]
		if c.Primary && (c.N > 0 || c.NoRatio()) {
			rows = append(rows, WithinRow{c.Workload, c.Level, c.BaseLevel, c.Metric, c.Unit, c.Better, v.ShownName(c.Environment), c.Label, c.Environment, c})
		}
	}
	return rows
}

// Growths returns the cost of each additional copy.
func (v *Report) Growths() []GrowthRow {
	return lists.Map(v.growths, func(g verdict.Growth) GrowthRow { return GrowthRow{g, v.ShownName(g.Environment)} })
}

// GrowthRow is what an additional instance costs in one environment.
type GrowthRow struct {
	verdict.Growth
	Shown string
}

// Span is the interval, or the range if there are too few blocks for one.
func (r GrowthRow) Span() string {
	if r.Bounded() {
		return "[" + Figure(r.Each.Low, r.Unit) + ", " + Figure(r.Each.High, r.Unit) + "]"
	}
	return "range " + Figure(r.Least, r.Unit) + " to " + Figure(r.Most, r.Unit)
}

// Against is the ratio to the growth of the baseline, unless too few of the blocks
// have one.
func (r GrowthRow) Against() string {
	if math.IsNaN(r.Ratio.Estimate) || !r.Ratio.Bounded() && r.Paired < r.N {
		return ""
	}
	text := "×" + Digits(r.Ratio.Estimate)
	if r.Ratio.Bounded() && r.Ratio.Low > 0 {
		text += " [" + Digits(r.Ratio.Low) + ", " + Digits(r.Ratio.High) + "]"
	}
	return text
}
