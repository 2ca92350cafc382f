package parse

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// percentile returns the nearest-rank percentile of sorted values: the smallest value that
// at least p percent of all do not exceed, so always a measured one. The outputs that are
// parsed here have every value, so it needs no histogram.
func percentile(sorted []float64, p float64) float64 {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func median(values []float64) float64 { return percentile(slices.Sorted(slices.Values(values)), 50) }

// summarize adds figures of values: min, mean, max, or a percentile such as p50 or
// p999, which is the one of 99.9 %.
func (r *reading) summarize(values []float64, prefix, figures string) {
	sorted := slices.Sorted(slices.Values(values))
	for figure := range strings.FieldsSeq(figures) {
		p, v := 0.0, 0.0
		switch figure {
		case "min":
		case "max":
			p = 100
		case "mean":
			for _, each := range sorted {
				v += each
			}
			r.fields[prefix+figure] = v / float64(len(sorted))
			continue
		default:
			p, _ = strconv.ParseFloat(figure[1:3]+"."+figure[3:], 64) // the names are in this package
		}
		r.fields[prefix+figure] = percentile(sorted, p)
	}
}
