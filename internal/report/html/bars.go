package html

import (
	"fmt"
	"html/template"
	"math"
	"strconv"

	"tare/internal/verdict"

	"tare/internal/report/model"
)

// bars draws intervals as small pictures that all share one scale: linear near
// zero, where the margin is, and logarithmic far out.
type bars struct {
	margin, reach float64
}

func newBars(v *model.Report) bars {
	b := bars{margin: v.Margin(), reach: 3 * v.Margin()}
	for _, c := range v.Contrasts {
		if !c.Primary {
			continue
		}
		low, high := ends(&c)
		for _, d := range []float64{c.Point(), low, high} {
			if !math.IsInf(d, 0) && !math.IsNaN(d) {
				b.reach = math.Max(b.reach, math.Abs(d))
			}
		}
	}
	return b
}

// at is where a log ratio lies, in per cent of the width.
func (b bars) at(d float64) string {
	x := 50 + 48*model.Bend(d, b.margin)/model.Bend(b.reach, b.margin)
	return strconv.FormatFloat(math.Max(0, math.Min(100, x)), 'f', 1, 64) + "%"
}

func (b bars) draw(c *verdict.Contrast) template.HTML {
	verdict := template.HTMLEscapeString(string(c.Verdict))
	low, high := ends(c)
	whisker := ""
	if !math.IsNaN(low) && !math.IsNaN(high) {
		whisker = fmt.Sprintf(`<line class="whisker %s" x1="%s" x2="%s" y1="6" y2="6"/>`, verdict, b.at(low), b.at(high))
	}
	// Hidden from screen readers: the numbers are in the text.
	return template.HTML(fmt.Sprintf(`<svg class="bar" aria-hidden="true"><rect class="band" x="%s" width="%s" y="0" height="12"/><line class="zero" x1="50%%" x2="50%%" y1="0" y2="12"/>%s<circle class="%s" cx="%s" cy="6" r="3.5"/></svg>`,
		b.at(-b.margin), b.width(), whisker, verdict, b.at(c.Point())))
}

// ends are those of the interval, or of the range where there is none.
func ends(c *verdict.Contrast) (low, high float64) {
	if c.RangeOnly() {
		return c.Least, c.Most
	}
	return c.Low, c.High
}

func (b bars) width() string {
	if b.margin == 0 {
		return "0%"
	}
	return strconv.FormatFloat(96*model.Bend(b.margin, b.margin)/model.Bend(b.reach, b.margin), 'f', 1, 64) + "%"
}
