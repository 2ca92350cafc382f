package parse

import (
	"cmp"
	"math"
	"slices"
)

// Histogram counts values. Histograms of several outputs add up: that of all
// outputs together is their concatenation.
type Histogram []Bin

// Bin counts the values above Low and up to High. Where both are equal, it counts
// that value.
type Bin struct{ Low, High, Count float64 }

// histogramOf counts each value itself.
func histogramOf(values []float64) Histogram {
	h := make(Histogram, len(values))
	for i, v := range values {
		h[i] = Bin{v, v, 1}
	}
	return h
}

// Percentile returns the smallest value that at least p percent of all values do
// not exceed, as distribution.percentile does. Inside a bin, values count as
// spread evenly. ok is false where nothing was counted.
func (h Histogram) Percentile(p float64) (value float64, ok bool) {
	// An edge adds to how many values lie below it, and to how many more do for
	// each unit above it.
	type edge struct{ at, jump, slope float64 }
	var edges []edge
	total := 0.0
	for _, b := range h {
		switch {
		case b.Count <= 0:
		case b.Low < b.High:
			slope := b.Count / (b.High - b.Low)
			edges = append(edges, edge{b.Low, 0, slope}, edge{b.High, 0, -slope})
		default:
			edges = append(edges, edge{b.High, b.Count, 0})
		}
		total += max(b.Count, 0)
	}
	if len(edges) == 0 {
		return 0, false
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.jump, b.jump), cmp.Compare(a.slope, b.slope))
	})
	// Sums of slopes are not exact, so the ends do not depend on them.
	first, last := edges[0].at, edges[len(edges)-1].at
	if p >= 100 {
		return last, true
	}
	wanted := total * (p/100 - 1e-9)
	at, below, slope := first, 0.0, 0.0
	for _, e := range edges {
		if reached := below + slope*(e.at-at); slope > 0 && reached >= wanted {
			return min(max(at+(wanted-below)/slope, at), e.at), true
		} else if e.at > at {
			below = reached
		}
		if at, below, slope = e.at, below+e.jump, slope+e.slope; below >= wanted {
			return at, true
		}
	}
	return last, true
}

// fioBin is the width of the bin that has a value: each power of two is divided
// into 64 bins, or into its whole numbers if those are fewer.
func fioBin(ns float64) float64 {
	if ns < 128 {
		return 0
	}
	return math.Ldexp(1, math.Ilogb(ns)-6)
}
