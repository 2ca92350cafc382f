package model

import (
	"math"
	"slices"

	"tare/internal/attribution/analysis"
)

// Waterfall is the scale of a waterfall chart: the range of its bars.
type Waterfall struct{ least, most float64 }

// NewFall returns the scale of an attribution.
func NewFall(a analysis.Attribution) Waterfall {
	var f Waterfall
	reach := func(x float64) {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			f.least, f.most = math.Min(f.least, x), math.Max(f.most, x)
		}
	}
	for _, s := range append(slices.Clone(a.Parts), a.Total) {
		reach(s.Before + s.Contrast.Estimate)
	}
	if f.least == f.most {
		f.most = f.least + 1
	}
	return f
}

// At is where a log ratio lies, from 0 to 1.
func (f Waterfall) At(x float64) float64 { return (x - f.least) / (f.most - f.least) }
