package parse

import (
	"math"
	"slices"
	"strconv"
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

// summarize adds figures of the values: min, mean, max, or a percentile such as p50 or
// p999, which is the one of 99.9 %.
func (d distribution) summarize(fields map[string]float64, prefix string, figures ...string) {
	for _, figure := range figures {
		switch figure {
		case "min":
			fields[prefix+figure] = d[0]
		case "mean":
			fields[prefix+figure] = d.mean()
		case "max":
			fields[prefix+figure] = d[len(d)-1]
		default:
			p, err := strconv.ParseFloat(figure[1:3]+"."+figure[3:], 64)
			if err != nil {
				panic(err) // the names are in this package
			}
			fields[prefix+figure] = d.percentile(p)
		}
	}
}
