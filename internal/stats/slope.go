package stats

// Slope is that of Theil and Sen: the median of the slopes between any two
// points of different x (Sen, 1968), which a few points far out do not move. It
// is NaN where no two points have different x.
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
