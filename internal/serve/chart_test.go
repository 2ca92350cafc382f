package serve

import (
	"math"
	"slices"
	"testing"

	"tare/internal/serve/index"
)

// Whatever the values are, ticks are around them, their labels do not touch, and no line
// leaves the axes.
func TestAxesHoldTheirData(t *testing.T) {
	for name, values := range map[string][]float64{
		"a tenth of the baseline": {math.Log(.1), math.Log(.11)},
		"a hundred times":         {math.Log(100), math.Log(138), math.Log(90)},
		"a hundredth":             {math.Log(.01)},
		"a few percent":           {.02, .03, -.01},
		"both sides, far":         {math.Log(.02), math.Log(40)},
		"a half":                  {math.Log(.5), math.Log(.45), math.Log(.55)},
		"a million times":         {math.Log(1e6), 0},
		"nothing":                 {0, 0},
	} {
		var p past
		for _, v := range values {
			p.Points = append(p.Points, row{Point: index.Point{Value: index.Value{Estimate: v}}})
		}
		p.Segments = []segment{{First: 0, Last: len(values) - 1, Centre: values[0]}}
		for _, narrow := range []bool{false, true} {
			c := newChart(p, narrow)
			var at []float64
			for _, tick := range c.Ticks {
				at = append(at, tick.Y)
			}
			slices.Sort(at)
			if len(at) < 3 {
				t.Errorf("%s: only %d ticks", name, len(at))
			}
			for i, y := range at {
				if i > 0 && y-at[i-1] < apart {
					t.Errorf("%s: two labels are %v apart", name, y-at[i-1])
				}
			}
			for _, m := range c.Marks {
				if !slices.ContainsFunc(at, func(y float64) bool { return math.Abs(y-m.Y) < (c.Bottom-c.Top)/4 }) {
					t.Errorf("%s: the mark at %v has no tick near it: %v", name, m.Y, at)
				}
			}
			for _, l := range c.Centres {
				if l.X < c.Left || l.X2 > c.Right {
					t.Errorf("%s: a line goes from %v to %v, the axes from %v to %v", name, l.X, l.X2, c.Left, c.Right)
				}
			}
		}
	}
}
