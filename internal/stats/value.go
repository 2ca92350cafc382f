package stats

import "math"

// Values of successive blocks resemble each other, since what disturbs a machine lasts
// longer than a block. On 32 recorded series their correlation with the value before was
// .33, with a standard error of .05. Few blocks do not show theirs, so at least
// leastCorrelation is assumed; beyond mostCorrelation the values drift, and no factor helps.
const (
	leastCorrelation = .4
	mostCorrelation  = .9
)

// Value is HodgesLehmann for the values of successive blocks, in their order. Where each
// has the correlation r with the one before (an autoregression of the first order), n of
// them tell as much about their mean as n(1-r)/(1+r) independent ones do (Bartlett, Some
// aspects of the time-correlation problem in regard to tests of significance, Journal of
// the Royal Statistical Society 98, 1935). The interval is therefore wider, by the root of
// the inverse. Differences within blocks need none of this: what lasts is on both sides.
func Value(values []float64, alpha float64) Interval {
	v := HodgesLehmann(values, alpha)
	r := min(mostCorrelation, max(leastCorrelation, correlation(values)))
	wider := math.Sqrt((1 + r) / (1 - r))
	return Interval{v.Estimate, v.Estimate - wider*(v.Estimate-v.Low), v.Estimate + wider*(v.High-v.Estimate)}
}

// correlation of each value with the one before; 0 where all are equal.
func correlation(values []float64) float64 {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	var all, next float64
	for i, v := range values {
		all += (v - mean) * (v - mean)
		if i > 0 {
			next += (v - mean) * (values[i-1] - mean)
		}
	}
	if all == 0 {
		return 0
	}
	return next / all
}
