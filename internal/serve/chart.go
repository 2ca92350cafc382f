package serve

import (
	"fmt"
	"math"

	"tare/internal/verdict"
)

// chart is the picture of a history: coordinates in a drawing of chartWidth by chartHeight.
type chart struct {
	Width, Height, Left, Right, Top, Bottom float64
	Zero                                    float64
	Ticks                                   []tick
	Marks                                   []mark
	Centres, Changes                        []line
	About                                   string
}

type tick struct {
	Y, Text float64
	Label   string
}

type mark struct {
	X, Y, Low, High float64
	Bounded         bool
	Title, ID       string
}

type line struct{ X, X2, Y float64 }

func newChart(p past) chart {
	c := chart{Width: 900, Height: 320, Left: 70, Right: 885, Top: 22, Bottom: 300}
	least, most := 0.0, 0.0 // the baseline is always in the picture
	for _, point := range p.Points {
		least, most = min(least, point.Estimate), max(most, point.Estimate)
	}
	// A wide interval of one run must not flatten all others: it is cut at the edge.
	for _, point := range p.Points {
		if point.Low != nil && point.High != nil && *point.High-*point.Low < 3*(most-least) {
			least, most = min(least, *point.Low), max(most, *point.High)
		}
	}
	if most-least < 0.01 {
		least, most = least-0.005, most+0.005
	}
	pad := 0.06 * (most - least)
	least, most = least-pad, most+pad
	y := func(v float64) float64 {
		return round(c.Bottom - (min(max(v, least), most)-least)/(most-least)*(c.Bottom-c.Top))
	}
	x := func(i float64) float64 {
		return round(c.Left + 20 + (c.Right-c.Left-40)*i/math.Max(1, float64(len(p.Points)-1)))
	}
	c.Zero = y(0)
	step := nice((math.Exp(most) - math.Exp(least)) / 6) // round percentages
	for n := math.Ceil(math.Expm1(least) / step); n*step <= math.Expm1(most); n++ {
		v := math.Log1p(n * step)
		c.Ticks = append(c.Ticks, tick{y(v), y(v) + 4, minus(verdict.Change(v))})
	}
	for i, point := range p.Points {
		m := mark{X: x(float64(i)), Y: y(point.Estimate), ID: point.ID, Title: point.Name + ": " + minus(verdict.Change(point.Estimate))}
		if point.Low != nil && point.High != nil {
			m.Bounded, m.Low, m.High = true, y(*point.Low), y(*point.High)
		}
		c.Marks = append(c.Marks, m)
	}
	for i, s := range p.Segments {
		c.Centres = append(c.Centres, line{x(float64(s.First) - 0.3), x(float64(s.Last) + 0.3), y(s.Centre)})
		if i > 0 {
			c.Changes = append(c.Changes, line{X: x(float64(s.First) - 0.5)})
		}
	}
	c.About = fmt.Sprintf("Difference from the baseline in %d runs, the oldest first, with intervals; %d change points. The table has the values.", len(p.Points), len(c.Changes))
	return c
}

func round(x float64) float64 { return math.Round(x*10) / 10 }

// nice is a round number near x: 1, 2 or 5 times a power of ten.
func nice(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	switch f := x / power; {
	case f < 1.5:
		return power
	case f < 3.5:
		return 2 * power
	case f < 7.5:
		return 5 * power
	}
	return 10 * power
}
