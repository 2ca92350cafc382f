package html

import (
	"testing"

	"tare/internal/rundir"
)

func TestCurvesOverTimeAreMediansOverTheTrials(t *testing.T) {
	curve := func(values ...float64) (c []rundir.Point) {
		for i, v := range values {
			c = append(c, rundir.Point{Second: float64(i), Value: v})
		}
		return c
	}
	got := windows([][]rundir.Point{curve(1, 2, 30), curve(3, 4, 10), curve(2, 6, 20)})
	var values []float64
	for _, p := range got {
		values = append(values, float64(p[1]))
	}
	if len(values) != 3 || values[0] != 2 || values[1] != 4 || values[2] != 20 {
		t.Errorf("got %v", values)
	}
	if one := windows([][]rundir.Point{{{Second: 0, Value: 7}}}); len(one) != 1 || one[0][1] != 7 {
		t.Errorf("a curve of one point became %v", one)
	}
	long := make([]rundir.Point, 1000)
	for i := range long {
		long[i] = rundir.Point{Second: float64(i), Value: 1}
	}
	if n := len(windows([][]rundir.Point{long})); n != mostWindows {
		t.Errorf("1000 points became %d", n)
	}
}
