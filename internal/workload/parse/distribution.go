package parse

import (
	"math"
	"slices"
)

// distribution is a sorted list of measured values. The outputs that are parsed
// here have every value, so percentiles need no histogram.
type distribution []float64

func newDistribution(values []float64) distribution {
	d := distribution(slices.Clone(values))
	slices.Sort(d)
	return d
}

// percentile returns the nearest-rank percentile: the smallest value that at
// least p percent of all values do not exceed, so always a measured one.
func (d distribution) percentile(p float64) float64 {
	rank := int(math.Ceil(p / 100 * float64(len(d))))
	return d[min(max(rank, 1), len(d))-1]
}

func (d distribution) mean() float64 {
	sum := 0.0
	for _, v := range d {
		sum += v
	}
	return sum / float64(len(d))
}
