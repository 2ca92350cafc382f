// Package stats holds the estimators, intervals and decisions behind a verdict, as
// pure functions of numbers: the Hodges-Lehmann estimator with its exact
// signed-rank interval, the shares of the error that the analyses of a run
// spend, and the signed-rank e-process for open-ended runs. Each function
// cites its source; docs/explanation/statistics.md explains the procedure.
//
// It must not do I/O, and must not know trials, studies or environments. All
// paired differences are natural-log ratios, one per block:
// d = ln(value in the environment) - ln(value at the baseline).
package stats

import (
	"math"
	"slices"
)

// Interval is an estimate with its interval. An end that the data cannot bound is
// infinite.
type Interval struct {
	Estimate, Low, High float64
}

// Inside reports whether the interval lies strictly between -margin and margin.
func (v Interval) Inside(margin float64) bool { return -margin < v.Low && v.High < margin }

// ExcludesZero reports whether zero lies strictly outside the interval.
func (v Interval) ExcludesZero() bool { return v.Low > 0 || v.High < 0 }

// Bounded reports whether both ends are finite.
func (v Interval) Bounded() bool { return !math.IsInf(v.Low, 0) && !math.IsInf(v.High, 0) }

// Median is the median of the values; NaN of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Quantile is the p-quantile of the values, interpolated linearly between the
// order statistics (type 7 of Hyndman and Fan, Sample quantiles in statistical
// packages, 1996); NaN of none.
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

// QuantileRatio is the p-quantile of the values over that of the base.
func QuantileRatio(values, base []float64, p float64) float64 {
	return Quantile(values, p) / Quantile(base, p)
}

// madToSD scales the median absolute deviation to estimate the standard deviation
// of normal data: 1/Φ⁻¹(3/4) (Hampel, The influence curve and its role in robust
// estimation, 1974).
const madToSD = 1.482602218505602

// OutlierShare is the share of the values that are more than three scaled median
// absolute deviations from the median. It is only reported: nothing is dropped.
// Where more than half of the values are equal, the deviation is 0 and so is the
// share.
func OutlierShare(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	m, limit := Median(values), 3*Deviation(values)
	if limit == 0 {
		return 0
	}
	beyond := 0
	for _, v := range values {
		if math.Abs(v-m) > limit {
			beyond++
		}
	}
	return float64(beyond) / float64(len(values))
}

// Deviation is the median absolute deviation from the median, scaled to that of normal
// values; NaN of none.
func Deviation(values []float64) float64 {
	m := Median(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - m)
	}
	return madToSD * Median(deviations)
}
