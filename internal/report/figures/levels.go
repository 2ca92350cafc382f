package figures

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/report/model"
	"tare/internal/stats"
	"tare/internal/verdict"
)

// steps is the axis of levels: numbers at their place, others side by side.
type steps struct {
	title string
	texts []string
	at    []float64 // from 0 to 1
}

var oneParameter = regexp.MustCompile(`^([^=,]+)=(-?[0-9]+(?:\.[0-9]+)?)$`)

func newSteps(levels []model.Level) steps {
	var s steps
	var numbers []float64
	for _, l := range levels {
		parts := oneParameter.FindStringSubmatch(l.Name)
		if parts == nil || s.title != "" && s.title != parts[1] {
			return named(levels)
		}
		x, _ := strconv.ParseFloat(parts[2], 64)
		s.title, s.texts, numbers = parts[1], append(s.texts, parts[2]), append(numbers, x)
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, x := range numbers {
		least, most = math.Min(least, x), math.Max(most, x)
	}
	if least > 0 && most/least >= 8 {
		for i := range numbers {
			numbers[i] = math.Log(numbers[i])
		}
		least, most = math.Log(least), math.Log(most)
		s.title += " (logarithmic)"
	}
	if !(most > least) {
		return named(levels)
	}
	for _, x := range numbers {
		s.at = append(s.at, (x-least)/(most-least))
	}
	return s
}

// numbered replaces texts that are wider than the room of each by numbers, and returns the
// key to them.
func (s *steps) numbered(room float64) (key []entry) {
	if !slices.ContainsFunc(s.texts, func(text string) bool { return widthOf(text, textSize) > room }) {
		return nil
	}
	for i, text := range s.texts {
		s.texts[i] = strconv.Itoa(i + 1)
		key = append(key, entry{s.texts[i] + ": " + text, nil})
	}
	return key
}

func named(levels []model.Level) (s steps) {
	for i, l := range levels {
		s.texts = append(s.texts, l.Name)
		s.at = append(s.at, float64(i)/math.Max(1, float64(len(levels)-1)))
	}
	return s
}

// curve is an environment over the levels.
type curve struct {
	identity
	name      string
	medians   []float64 // NaN where there is none
	values    [][]float64
	contrasts []*verdict.Contrast
}

// levels draws a metric over the levels of a workload: medians with each trial above, and
// below the change against the baseline with its interval.
func levels(v *model.Report, w model.Workload, m model.Metric) *picture {
	const upper, lower, gap, foot = 96.0, 84.0, 8.0, 26.0
	curves := curvesOf(v, w, m)
	if len(curves) == 0 {
		return nil
	}
	p := &picture{name: "levels-" + w.Name + "-" + m.Name, title: w.Name + ", " + m.Title() + " over levels", width: column}
	var entries []entry
	marked := false
	for _, c := range curves {
		shown := c.shown
		if slices.ContainsFunc(c.contrasts, func(c *verdict.Contrast) bool { return c != nil && model.ConfoundMark(c) != "" }) {
			shown, marked = shown+model.Mark, true
		}
		entries = append(entries, entry{shown, func(at point) {
			p.line(c.colour, 1, c.dash, point{at.x - 4, at.y}, point{at.x + 4, at.y})
			p.mark(c.symbol, c.colour, at, 2)
		}})
	}
	if marked {
		entries = append(entries, entry{confounded, nil})
	}
	top := p.legend(1, 0, column-1, entries) + 4
	x := newSteps(w.Levels)
	const left, right = 40.0, 8.0
	at := func(i int) float64 { return left + 8 + (column-left-right-16)*x.at[i] }
	p.medians(curves, m, at, left, top, upper)
	bottom := p.changes(v, curves, at, left, top+upper+gap, lower)
	key := x.numbered((column - left) / math.Max(2, float64(len(x.texts))))
	last := math.Inf(-1)
	for i, text := range x.texts {
		p.line(soft, .5, nil, point{at(i), bottom}, point{at(i), bottom + 2})
		if half := widthOf(text, textSize) / 2; at(i)-half > last+3 {
			p.tick(at(i), bottom+10, text)
			last = at(i) + half
		}
	}
	if x.title != "" {
		p.axisTitle(left, column-right, bottom+foot-6, x.title)
	}
	p.height = bottom + foot - 2
	if key != nil {
		p.height = bottom + 14 + p.legend(1, bottom+14, column-1, key)
	}
	return p
}

func curvesOf(v *model.Report, w model.Workload, m model.Metric) (curves []curve) {
	all := identities(v)
	for _, e := range v.Environments {
		if e.Rung || !e.Ran() {
			continue
		}
		c, some := curve{identity: all[e.Name], name: e.Name}, false
		for _, l := range w.Levels {
			var values []float64
			for i := range v.Trials {
				t := &v.Trials[i]
				if t.Workload != w.Name || t.Level != l.Name || t.Environment != e.Name {
					continue
				}
				if value, has := model.Value(t, m.Name); has {
					values = append(values, value)
				}
			}
			var contrast *verdict.Contrast
			if at := l.Metric(m.Name); at != nil {
				if cell := at.Cell(e.Name); cell != nil {
					contrast = cell.Contrast
				}
			}
			c.values, c.contrasts = append(c.values, values), append(c.contrasts, contrast)
			c.medians, some = append(c.medians, stats.Median(values)), some || len(values) > 0
		}
		if some {
			curves = append(curves, c)
		}
	}
	return curves
}

// medians is the upper panel.
func (p *picture) medians(curves []curve, m model.Metric, at func(int) float64, left, top, height float64) {
	most := 0.0
	for _, c := range curves {
		for _, values := range c.values {
			for _, x := range values {
				most = math.Max(most, x)
			}
		}
	}
	ticks, scale := valueTicks(most*1.04, m.Unit)
	y := func(x float64) float64 { return top + height*(1-math.Max(0, x)/math.Max(most*1.04, 1e-300)) }
	for _, x := range ticks {
		p.line(grid, .5, nil, point{left, y(x)}, point{p.width, y(x)})
		p.say(soft, textSize, ends, left-3, y(x)+2.5, strconv.FormatFloat(math.Round(x*scale.Factor*1e6)/1e6, 'f', -1, 64))
	}
	title := m.Name
	if suffix := strings.TrimSpace(scale.Suffix); suffix != "" {
		title += ", " + suffix
	}
	p.sayTurned(ink, textSize, 8, top+height/2, fit(title, height+8))
	for j, c := range curves {
		for i, values := range c.values {
			covered := map[int]bool{} // by other trials
			for _, x := range values {
				if place := int(y(x) * 4); !covered[place] {
					covered[place] = true
					p.polygon(c.colour, symbolAt(0, point{at(i) + aside(j, len(curves)), y(x)}, .8)...)
				}
			}
		}
	}
	for j, c := range curves {
		var points []point
		for i, x := range c.medians {
			if !math.IsNaN(x) {
				points = append(points, point{at(i) + aside(j, len(curves)), y(x)})
			}
		}
		p.join(c.identity, points)
	}
}

// join draws a line with a symbol at each of its points.
func (p *picture) join(of identity, points []point) {
	if len(points) > 1 {
		p.line(of.colour, 1, of.dash, points...)
	}
	for _, q := range points {
		p.mark(of.symbol, of.colour, q, 2.2)
	}
}

// aside moves environments apart, so that none covers another.
func aside(j, of int) float64 { return (float64(j) - float64(of-1)/2) * math.Min(4, 16/float64(of)) }

// changes is the lower panel. It returns where it ends.
func (p *picture) changes(v *model.Report, curves []curve, at func(int) float64, left, top, height float64) float64 {
	var values []float64
	for _, c := range curves {
		for _, one := range c.contrasts {
			if one != nil {
				values = append(values, one.Point(), one.Low, one.High)
			}
		}
	}
	if len(values) == 0 {
		return top - 8
	}
	a := newChanges(v.Margin(), false, values)
	a.from, a.to = top+height, top
	p.rect(band, left, a.at(a.margin), p.width-left, a.at(-a.margin)-a.at(a.margin))
	for _, d := range a.ticks(11) {
		p.line(grid, .5, nil, point{left, a.at(d)}, point{p.width, a.at(d)})
		p.say(soft, textSize, ends, left-3, a.at(d)+2.5, tickText(d))
	}
	p.line(soft, .7, nil, point{left, a.at(0)}, point{p.width, a.at(0)})
	p.sayTurned(ink, textSize, 8, top+height/2, fit("change vs "+v.Base.Shown, height+8))
	for j, c := range curves {
		var points []point
		for i, one := range c.contrasts {
			if one == nil || one.N == 0 {
				continue
			}
			x := at(i) + aside(j, len(curves))
			if !one.RangeOnly() {
				p.line(c.colour, .9, nil, point{x, a.at(one.Low)}, point{x, a.at(one.High)})
				for _, end := range []float64{one.Low, one.High} {
					if !math.IsInf(end, 0) {
						p.line(c.colour, .9, nil, point{x - 2, a.at(end)}, point{x + 2, a.at(end)})
					}
				}
			}
			points = append(points, point{x, a.at(one.Point())})
		}
		p.join(c.identity, points)
	}
	return top + height
}
