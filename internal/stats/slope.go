package stats

// Slope is the Theil-Sen estimator: the median of the slopes of all pairs of
// points with different x (Theil, A rank-invariant method of linear and polynomial
// regression analysis, 1950; Sen, Estimates of the regression coefficient based on
// Kendall's tau, 1968). It is NaN where all points have the same x.
func Slope(x, y []float64) float64 {
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	return Median(slopes)
}
