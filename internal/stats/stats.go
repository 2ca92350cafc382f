// Package stats holds the estimators, intervals and decisions that a verdict
// stands on, as pure functions of numbers: the Hodges-Lehmann estimate with its
// exact signed-rank interval, the calibrated looks of the sequential procedure,
// and the signed-rank e-process for open-ended runs.
//
// It must not read or write anything, and must not know trials, studies or
// environments. All paired differences are natural-log ratios, one a block:
// d = ln(value in the environment) - ln(value at the baseline).
package stats

import (
	"math"
	"slices"
)

// Interval is an estimate with the two ends of its interval. An end that the
// data cannot bound is infinite.
type Interval struct {
	Estimate, Low, High float64
}

// Inside says whether the whole interval lies strictly between -margin and
// margin.
func (v Interval) Inside(margin float64) bool { return -margin < v.Low && v.High < margin }

// ExcludesZero says whether zero lies strictly outside the interval.
func (v Interval) ExcludesZero() bool { return v.Low > 0 || v.High < 0 }

// Bounded says whether both ends are finite.
func (v Interval) Bounded() bool { return !math.IsInf(v.Low, 0) && !math.IsInf(v.High, 0) }

// Median of the values; NaN of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Quantile is the p-quantile of the values, interpolated linearly between the
// order statistics (type 7 of Hyndman and Fan); NaN of none.
func Quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	at := p * float64(len(s)-1)
	i := int(math.Floor(at))
	if i >= len(s)-1 {
		return s[len(s)-1]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// QuantileRatio is the p-quantile of the values over that of the base: how the
// tails compare where the medians may not.
func QuantileRatio(values, base []float64, p float64) float64 {
	return Quantile(values, p) / Quantile(base, p)
}

// madToSD makes the median absolute deviation estimate the standard deviation
// of normal data: 1/Φ⁻¹(3/4).
const madToSD = 1.482602218505602

// OutlierShare is the share of the values that lie beyond three scaled median
// absolute deviations from the median. It is shown and nothing is dropped by
// it. Where more than half of the values are equal there is no scale to judge
// by, and the share is 0.
func OutlierShare(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	m := Median(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - m)
	}
	limit := 3 * madToSD * Median(deviations)
	if limit == 0 {
		return 0
	}
	beyond := 0
	for _, v := range deviations {
		if v > limit {
			beyond++
		}
	}
	return float64(beyond) / float64(len(values))
}
