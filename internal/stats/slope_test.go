package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestTheSlopeIsRobustAgainstOnePoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-1e3, 1e3).Draw(t, "a"), rapid.Float64Range(-1e3, 1e3).Draw(t, "b")
		n := rapid.IntRange(5, 20).Draw(t, "n")
		far := rapid.IntRange(0, n-1).Draw(t, "far")
		var x, y []float64
		for i := range n {
			x, y = append(x, float64(i*i)), append(y, a+b*float64(i*i))
		}
		y[far] += rapid.Float64Range(-1e6, 1e6).Draw(t, "off")
		if got := Slope(x, y); math.Abs(got-b) > 1e-9*(1+math.Abs(a)+math.Abs(b)) {
			t.Fatalf("%v, not %v", got, b)
		}
	})
	if got := Slope([]float64{2, 2}, []float64{1, 5}); !math.IsNaN(got) {
		t.Errorf("one x alone has the slope %v", got)
	}
}
