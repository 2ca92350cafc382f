package parse

import (
	"math"
	"slices"
)

// distribution is a list of measured values in ascending order. Nothing is put
// into buckets: the outputs that are read here hold every value.
type distribution []float64

func newDistribution(values []float64) distribution {
	d := distribution(slices.Clone(values))
	slices.Sort(d)
	return d
}

// percentile is the nearest rank: the smallest value that is not exceeded by at
// least p percent of all values, so always one that was measured.
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
