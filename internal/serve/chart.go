package serve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/serve/index"
	"tare/internal/verdict"
)

// chart is the picture of a history: coordinates in a drawing of Width by Height.
type chart struct {
	Width, Height, Left, Right, Top, Bottom float64
	Label, Foot                             float64 // where the labels of the ticks end, and the line of the days
	Zero, Radius                            float64
	Narrow, Dense                           bool
	Ticks                                   []tick
	Days                                    []day
	Marks                                   []mark
	Centres, Changes                        []line
	About                                   string
}

type tick struct {
	Y, Text float64
	Label   string
}

// day is when a run began, below the chart.
type day struct {
	X             float64
	Label, Anchor string
}

type mark struct {
	X, Y, Low, High float64
	Bounded         bool
	Title           string
}

type line struct{ X, X2, Y float64 }

// dense is from how many runs on the marks are small.
const dense = 60

func newChart(p past, narrow bool) chart {
	c := chart{Width: 900, Height: 330, Left: 70, Right: 885, Top: 22, Bottom: 296, Label: 62, Foot: 322, Radius: 4, Narrow: narrow}
	if narrow {
		c.Width, c.Height, c.Left, c.Right, c.Label = 380, 300, 64, 376, 58
		c.Bottom, c.Foot = 266, 292
	}
	if c.Dense = len(p.Points) > dense; c.Dense {
		c.Radius = 2.5
	}
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
		if len(p.Points) == 1 {
			i += 0.5 // in the middle
		}
		return round(c.Left + 20 + (c.Right-c.Left-40)*i/math.Max(1, float64(len(p.Points)-1)))
	}
	c.Zero = y(0)
	c.Ticks = ticks(least, most, y)
	for i, point := range p.Points {
		m := mark{X: x(float64(i)), Y: y(point.Estimate), Title: point.Name + ": " + minus(verdict.Change(point.Estimate))}
		if point.Low != nil && point.High != nil {
			m.Bounded, m.Low, m.High = true, y(*point.Low), y(*point.High)
		}
		c.Marks = append(c.Marks, m)
	}
	for i, s := range p.Segments {
		// With few runs, a third of their distance is more than the margin of the axes.
		c.Centres = append(c.Centres, line{max(c.Left, x(float64(s.First)-0.3)), min(c.Right, x(float64(s.Last)+0.3)), y(s.Centre)})
		if i > 0 {
			c.Changes = append(c.Changes, line{X: x(float64(s.First) - 0.5)})
		}
	}
	c.Days = days(p.Points, c, x)
	c.About = fmt.Sprintf("Difference from the baseline in %d runs, the oldest first, with intervals; %d change points. The table has the values.", len(p.Points), len(c.Changes))
	return c
}

// apart is the least distance of two ticks, so that their labels do not touch.
const apart = 20

// ticks are round percentages, or round ratios where the ends of the axis differ so much
// that percentages would all be at the upper one: the axis is logarithmic.
func ticks(least, most float64, y func(float64) float64) (list []tick) {
	values := []float64{0}
	if most-least < math.Log(2.5) {
		step := nice((math.Exp(most) - math.Exp(least)) / 6)
		for n := math.Ceil(math.Expm1(least) / step); n*step <= math.Expm1(most); n++ {
			values = append(values, math.Log1p(n*step))
		}
	} else {
		for _, of := range []float64{1, 3, 2, 5, 1.5, 7} { // where all have no room, the first
			for power := math.Floor(least / math.Ln10); power <= most/math.Ln10; power++ {
				values = append(values, math.Log(of)+power*math.Ln10)
			}
		}
	}
	for _, v := range values {
		at := y(v)
		taken := slices.ContainsFunc(list, func(t tick) bool { return math.Abs(t.Y-at) < apart })
		if !taken && v >= least && v <= most {
			list = append(list, tick{at, at + 4, minus(verdict.Change(v))})
		}
	}
	return list
}

// days are those of the first and the last run, and of some between them.
func days(points []row, c chart, x func(float64) float64) (list []day) {
	n := min(len(points), int((c.Right-c.Left)/130))
	for i := range n {
		at := i * (len(points) - 1) / max(1, n-1)
		if points[at].Created.IsZero() {
			continue
		}
		d := day{X: x(float64(at)), Label: points[at].Created.UTC().Format(time.DateOnly), Anchor: "middle"}
		switch {
		case n == 1:
		case i == 0:
			d.Anchor, d.X = "start", c.Left
		case i == n-1:
			d.Anchor, d.X = "end", c.Right
		}
		if len(list) == 0 || list[len(list)-1].Label != d.Label {
			list = append(list, d)
		}
	}
	return list
}

// sparkline has the points of a line through values, in a drawing of 100 by 24. Its scale is
// its own, so that a line alone says nothing of a size: the value is beside it.
func sparkline(values []index.Value) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		least, most = min(least, v.Estimate), max(most, v.Estimate)
	}
	// A change that nobody would act on is no mountain.
	if room := 0.05 - (most - least); room > 0 {
		least, most = least-room/2, most+room/2
	}
	var points strings.Builder
	for i, v := range values {
		fmt.Fprintf(&points, "%v,%v ", round(2+96*float64(i)/math.Max(1, float64(len(values)-1))), round(22-20*(v.Estimate-least)/(most-least)))
	}
	return strings.TrimSpace(points.String())
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
