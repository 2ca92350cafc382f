package figures

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/study"
)

const (
	sourceLeft  = 40.0
	sourceRight = 6.0
	sourceHigh  = 92.0 // of a panel
)

// Source draws a figure of a published study for the page, as SVG; its title stands above it
// there.
func Source(v *model.Report, f model.SourceFigure) []byte { return source(v, f, false).svg(themed) }

// source draws a figure of a published study in its way: bars of means with deviations,
// curves and courses over time, with tare's intervals beside them.
func source(v *model.Report, f model.SourceFigure, titled bool) *picture {
	p := &picture{name: f.Study + " " + f.Place, title: f.Place + ": " + f.Shows, width: column}
	y := 0.0
	if titled {
		for _, line := range wrap(p.title, column-2) {
			y += 8.5
			p.say(ink, textSize, begins, 1, y-1, line)
		}
		y += 3.5
	}
	for i := range f.Panels {
		panel := &f.Panels[i]
		looks := looksOf(v, panel)
		if i == 0 || !sameLines(panel, &f.Panels[i-1]) {
			y += p.legend(1, y, column-1, p.sourceEntries(v, panel, looks)) + 2
		}
		if panel.Title != "" {
			y += 10
			p.say(soft, textSize, begins, 1, y-2.5, fit(panel.Title, column))
		}
		if len(panel.Lines) == 0 {
			for _, line := range wrap(panel.Why, column-sourceLeft) {
				y += 10
				p.say(soft, textSize, begins, sourceLeft, y-2.5, line)
			}
			continue
		}
		y = p.panel(panel, looks, y+2) + 4
	}
	p.height = y
	return p
}

// sameLines reports whether two panels have the same legend.
func sameLines(a, b *model.SourcePanel) bool {
	names := func(p *model.SourcePanel) string {
		return p.Draw + strings.Join(lists.Map(p.Lines, func(l model.SourceLine) string { return l.Name + "\n" + l.Rest }), "\n")
	}
	return names(a) == names(b)
}

// looksOf gives lines of an environment its colour, and what else is swept a dash and a
// symbol.
func looksOf(v *model.Report, panel *model.SourcePanel) (looks []identity) {
	all := identities(v)
	var rests, others []string
	for _, l := range panel.Lines {
		look, known := all[l.Environment]
		if !known { // of another run
			others = lists.Add(others, l.Environment)
			i := (len(palette) - 1 - slices.Index(others, l.Environment)%(len(palette)-1))
			look = identity{"", palette[i], i, dashes[i]}
		}
		if l.Rest != "" {
			rests = lists.Add(rests, l.Rest)
			look.symbol = slices.Index(rests, l.Rest)
			look.dash = dashes[look.symbol%len(dashes)]
		}
		look.shown = l.Name
		if l.Emulated != "" {
			look.shown += " [" + l.Emulated + "]"
		}
		if l.Rest != "" {
			look.shown += ", " + l.Rest
		}
		looks = append(looks, look)
	}
	return looks
}

// sourceEntries say what the marks are: those of the source, and those of tare.
func (p *picture) sourceEntries(v *model.Report, panel *model.SourcePanel, looks []identity) (entries []entry) {
	for _, look := range looks {
		entries = append(entries, entry{look.shown, func(at point) {
			if panel.Draw == "bars" {
				p.rect(look.colour, at.x-3, at.y-3, 6, 6)
				return
			}
			p.line(look.colour, 1, look.dash, point{at.x - 4, at.y}, point{at.x + 4, at.y})
			if panel.Draw == "curves" {
				p.mark(look.symbol, look.colour, at, 2)
			}
		}})
	}
	switch {
	case panel.Draw == "time" && panel.OneSample:
		return append(entries, entry{"medians of all samples of the blocks", nil})
	case panel.Draw == "time":
		return append(entries, entry{"medians of the blocks, the waits for others left out", nil})
	}
	blocks := 0
	for _, l := range panel.Lines {
		for _, q := range l.Points {
			blocks = max(blocks, q.N)
		}
	}
	way := "as the source: mean"
	if blocks > 1 {
		way += " ± SD of up to " + strconv.Itoa(blocks) + " blocks"
	}
	if panel.Draw == "curves" {
		way = "lines, as the source: means of up to " + strconv.Itoa(blocks) + " blocks"
	}
	return append(entries, entry{way, nil}, entry{"tare's value, " + v.Plan.Design.Confidence.String() + " interval", func(at point) { p.estimate(at.x, at.y-3.5, at.y, at.y+3.5) }})
}

// estimate marks a value of tare with its interval, at heights of the picture.
func (p *picture) estimate(x, high, middle, low float64) {
	p.line(ink, .8, nil, point{x, low}, point{x, high})
	for _, y := range []float64{low, high} {
		p.line(ink, .8, nil, point{x - 1.5, y}, point{x + 1.5, y})
	}
	p.mark(3, ink, point{x, middle}, 1.5)
}

// panel draws a chart below a height, and returns where it ends.
func (p *picture) panel(panel *model.SourcePanel, looks []identity, top float64) float64 {
	most := 0.0
	for _, l := range panel.Lines {
		for _, q := range l.Points {
			most = math.Max(most, q.Mean)
			if panel.Draw == "bars" && q.N > 1 {
				most = math.Max(most, q.Mean+q.SD)
			}
			if panel.Draw != "time" && !math.IsNaN(q.High) && q.High < 3*q.Mean { // one that says nothing is cut off
				most = math.Max(most, q.High)
			}
		}
	}
	bottom := top + sourceHigh
	ticks, scale := valueTicks(most*1.04, panel.Unit)
	y := func(x float64) float64 {
		return bottom - sourceHigh*math.Max(0, math.Min(1, x/math.Max(most*1.04, 1e-300)))
	}
	for _, x := range ticks {
		p.line(grid, .5, nil, point{sourceLeft, y(x)}, point{p.width, y(x)})
		p.say(soft, textSize, ends, sourceLeft-3, y(x)+2.5, strconv.FormatFloat(math.Round(x*scale.Factor*1e6)/1e6, 'f', -1, 64))
	}
	title := panel.Metric
	if suffix := strings.TrimSpace(scale.Suffix); suffix != "" {
		title += ", " + suffix
	}
	p.sayTurned(ink, textSize, 8, top+sourceHigh/2, fit(title, sourceHigh+8))
	switch panel.Draw {
	case "bars":
		return p.barsOf(panel, looks, y, bottom)
	case "curves":
		return p.curvesOver(panel, looks, y, bottom)
	}
	return p.overTime(panel, looks, y, top, bottom)
}

// barsOf draws the mean of each environment with its deviation, and beside it tare's value.
func (p *picture) barsOf(panel *model.SourcePanel, looks []identity, y func(float64) float64, bottom float64) float64 {
	var groups []int // with a value
	for i := range panel.At {
		if slices.ContainsFunc(panel.Lines, func(l model.SourceLine) bool {
			return slices.ContainsFunc(l.Points, func(q model.SourcePoint) bool { return q.At == i })
		}) {
			groups = append(groups, i)
		}
	}
	room := (p.width - sourceLeft - sourceRight) / float64(len(groups))
	each := math.Min(34, room*.86/float64(len(panel.Lines)))
	s := steps{}
	for n, g := range groups {
		centre := sourceLeft + room*(float64(n)+.5)
		s.texts, s.at = append(s.texts, panel.At[g]), append(s.at, centre)
		for j, l := range panel.Lines {
			i := slices.IndexFunc(l.Points, func(q model.SourcePoint) bool { return q.At == g })
			if i < 0 {
				continue
			}
			q, left := l.Points[i], centre+each*(float64(j)-float64(len(panel.Lines))/2)
			width := each * .6
			p.rect(looks[j].colour, left, y(q.Mean), width, bottom-y(q.Mean))
			if middle := left + width/2; q.N > 1 {
				p.line(ink, .6, nil, point{middle, y(q.Mean - q.SD)}, point{middle, y(q.Mean + q.SD)})
				for _, end := range []float64{q.Mean - q.SD, q.Mean + q.SD} {
					p.line(ink, .6, nil, point{middle - width/5, y(end)}, point{middle + width/5, y(end)})
				}
			}
			if !math.IsNaN(q.Estimate) {
				p.estimate(left+each*.78, y(q.High), y(q.Estimate), y(q.Low))
			}
		}
	}
	p.line(soft, .7, nil, point{sourceLeft, bottom}, point{p.width, bottom})
	return p.places(s, room, bottom)
}

// places writes what is along the axis, and returns where it ends. Texts without room
// have numbers, with the key below.
func (p *picture) places(s steps, room, bottom float64) float64 {
	if !slices.ContainsFunc(s.texts, func(text string) bool { return text != "" }) {
		return bottom + 4
	}
	key := s.numbered(room)
	last := math.Inf(-1)
	for i, text := range s.texts {
		p.line(soft, .5, nil, point{s.at[i], bottom}, point{s.at[i], bottom + 2})
		if half := widthOf(text, textSize) / 2; s.at[i]-half > last+3 {
			p.tick(s.at[i], bottom+10, text)
			last = s.at[i] + half
		}
	}
	bottom += 13
	if s.title != "" {
		p.axisTitle(sourceLeft, p.width-sourceRight, bottom+7, s.title)
		bottom += 10
	}
	if key != nil {
		bottom += p.legend(1, bottom, p.width-1, key)
	}
	return bottom
}

// curvesOver draws a line through the means, and tare's intervals at them.
func (p *picture) curvesOver(panel *model.SourcePanel, looks []identity, y func(float64) float64, bottom float64) float64 {
	s := newSteps(lists.Map(panel.At, func(at string) model.Level {
		return model.Level{Level: study.Level{Name: panel.Over + "=" + at}}
	}))
	if s.title == "" { // a value in words, or one alone
		s.title, s.texts = panel.Over, slices.Clone(panel.At)
	}
	if len(s.at) == 1 {
		s.at[0] = .5
	}
	for i := range s.at {
		s.at[i] = sourceLeft + 8 + (p.width-sourceLeft-sourceRight-16)*s.at[i]
	}
	for j, l := range panel.Lines {
		var points []point
		for _, q := range l.Points {
			x := s.at[q.At] + aside(j, len(panel.Lines))
			if !math.IsNaN(q.Estimate) {
				p.estimate(x, y(q.High), y(q.Estimate), y(q.Low))
			}
			points = append(points, point{x, y(q.Mean)})
		}
		p.join(looks[j], points)
	}
	p.line(soft, .7, nil, point{sourceLeft, bottom}, point{p.width, bottom})
	return p.places(s, (p.width-sourceLeft)/math.Max(2, float64(len(s.texts))), bottom)
}

// overTime draws the environments over each other, and where each level begins.
func (p *picture) overTime(panel *model.SourcePanel, looks []identity, y func(float64) float64, top, bottom float64) float64 {
	all := panel.X[len(panel.X)-1]
	x := func(second float64) float64 {
		return sourceLeft + (p.width-sourceLeft-sourceRight)*second/math.Max(all, 1e-9)
	}
	p.line(soft, .7, nil, point{sourceLeft, bottom}, point{p.width, bottom})
	levels := steps{}
	for i, text := range panel.At {
		if i > 0 {
			p.line(pale, .5, []float64{1.5, 1.5}, point{x(panel.X[i]), top}, point{x(panel.X[i]), bottom})
		}
		if text != "" {
			levels.texts, levels.at = append(levels.texts, text), append(levels.at, (x(panel.X[i])+x(panel.X[i+1]))/2)
		}
	}
	for j, l := range panel.Lines {
		for _, piece := range byLevel(l.Points) {
			points := lists.Map(piece, func(q model.SourcePoint) point { return point{x(q.X), y(q.Mean)} })
			if len(points) == 1 {
				p.mark(looks[j].symbol, looks[j].colour, points[0], 1.4)
				continue
			}
			p.line(looks[j].colour, 1, looks[j].dash, points...)
		}
	}
	for _, second := range evenly(all, 6) {
		p.line(soft, .5, nil, point{x(second), bottom}, point{x(second), bottom + 2})
		p.tick(x(second), bottom+9, strconv.FormatFloat(second, 'f', -1, 64))
	}
	title := "seconds of the samples"
	if panel.OneSample {
		title = "seconds of a sample"
	}
	if len(levels.texts) > 0 {
		title += ", one level after the other"
	}
	p.axisTitle(sourceLeft, p.width-sourceRight, bottom+18, title)
	bottom += 20
	if len(levels.texts) > 1 {
		bottom = p.places(levels, (p.width-sourceLeft-sourceRight)/float64(len(levels.texts)), bottom)
	}
	return bottom
}

// byLevel cuts a line where a level begins.
func byLevel(points []model.SourcePoint) (pieces [][]model.SourcePoint) {
	for i, q := range points {
		if i == 0 || points[i-1].At != q.At {
			pieces = append(pieces, nil)
		}
		pieces[len(pieces)-1] = append(pieces[len(pieces)-1], q)
	}
	return pieces
}
