package figures

import (
	"math"
	"slices"

	"tare/internal/report/model"
	"tare/internal/verdict"
)

// ratioRow is an environment at a level.
type ratioRow struct {
	level string // heading above the row
	shown string
	found []model.BlockRatio
	c     *verdict.Contrast
	of    identity
}

// ratios draws how the ratios of the blocks are distributed: a point each, with the
// estimate and its interval below them.
func ratios(v *model.Report, w model.Workload, m model.Metric) *picture {
	const height, head, second, foot = 21.0, 11.0, 8.0, 24.0
	all := identities(v)
	var rows []ratioRow
	var values []float64
	for _, l := range w.Levels {
		at := l.Metric(m.Name)
		if at == nil {
			continue
		}
		found, level := v.BlockRatios(l.Place(w).Of(m.Name)), l.Name
		for _, e := range v.Compared() {
			c := at.Cell(e.Name)
			if len(found[e.Name]) == 0 || c == nil || c.Contrast == nil {
				continue
			}
			rows = append(rows, ratioRow{level, e.Shown, found[e.Name], c.Contrast, all[e.Name]})
			level = ""
			for _, r := range found[e.Name] {
				values = append(values, r.Log)
			}
			values = append(values, c.Contrast.Estimate, c.Contrast.Low, c.Contrast.High)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	p := &picture{name: "ratios-" + w.Name + "-" + m.Name, title: w.Name + ", " + m.Title() + ": ratio to " + v.Base.Shown + " in each block", width: column}
	label, marked := 0.0, false
	for i := range rows {
		r := &rows[i]
		if mark := model.ConfoundMark(r.c); mark != "" {
			r.shown, marked = r.shown+mark, true
		}
		label = math.Max(label, widthOf(r.shown, textSize))
	}
	label = math.Min(label, column*.3) + 5
	a := newChanges(v.Margin(), false, values)
	a.from, a.to = label, column-3
	p.height = foot
	for _, r := range rows {
		if p.height += height; r.level != "" {
			p.height += head
		}
	}
	bottom := p.height - foot
	p.rect(band, a.at(-a.margin), 0, a.at(a.margin)-a.at(-a.margin), bottom)
	for _, d := range a.ticks(30) {
		p.line(grid, .5, nil, point{a.at(d), 0}, point{a.at(d), bottom})
		p.tick(a.at(d), bottom+9, tickText(d))
	}
	p.line(soft, .7, nil, point{a.at(0), 0}, point{a.at(0), bottom})
	y := 0.0
	for _, r := range rows {
		if r.level != "" {
			text := fit(r.level, column)
			p.rect(white, 0, y+1, widthOf(text, textSize)+2, head-1)
			p.say(soft, textSize, begins, 0, y+8.5, text)
			y += head
		}
		lines := wrap(r.shown, label-4)
		for k, text := range lines {
			p.say(ink, textSize, begins, 0, y+height/2+2.5+second*(float64(k)-float64(len(lines)-1)/2), text)
		}
		p.swarm(a, r, y+7.5)
		p.interval(a, r.c, r.of, y+height-4)
		y += height
	}
	p.axisTitle(label, column, p.height-4, "change against "+v.Base.Shown+", "+m.Name+", "+m.Better+" is better")
	if marked {
		p.note(confounded)
	}
	return p
}

// note is a line below a picture.
func (p *picture) note(text string) {
	p.say(ink, textSize, begins, 0, p.height+6, fit(text, p.width))
	p.height += 9
}

// tick writes the text of a tick within the picture.
func (p *picture) tick(x, y float64, text string) {
	half := widthOf(text, textSize) / 2
	p.say(soft, textSize, centred, math.Max(half, math.Min(p.width-half, x)), y, text)
}

// axisTitle is centred between two places, and further left if it is longer.
func (p *picture) axisTitle(from, to, y float64, text string) {
	text = fit(text, p.width)
	half := widthOf(text, textSize) / 2
	p.say(ink, textSize, centred, math.Max(half, math.Min(p.width-half, (from+to)/2)), y, text)
}

// swarm draws the ratios as points that move aside for each other, as far as there is
// room. Where there is none, one point stands for those that it covers.
func (p *picture) swarm(a changes, r ratioRow, y float64) {
	const radius, most = 1.25, 5.0
	near := map[int][]point{} // by their place, in diameters
	covered := map[int]bool{}
	for _, one := range r.found {
		x := a.at(one.Log)
		at, cell := point{x, y}, int(x/(2*radius))
		free := false
		for step := 0; !free; step++ {
			offset := float64((step+1)/2) * radius
			if offset > most {
				break
			}
			if step%2 == 1 {
				offset = -offset
			}
			at.y, free = y+offset, true
			for _, q := range slices.Concat(near[cell-1], near[cell], near[cell+1]) {
				free = free && math.Hypot(q.x-at.x, q.y-at.y) >= 2*radius
			}
		}
		if !free {
			if at.y = y; covered[int(2*x)] {
				continue
			}
			covered[int(2*x)] = true
		}
		near[cell] = append(near[cell], at)
		p.polygon(r.of.colour, symbolAt(0, at, radius)...)
	}
}

// interval draws an estimate with its interval; without one nothing.
func (p *picture) interval(a changes, c *verdict.Contrast, of identity, y float64) {
	if c.N == 0 || c.RangeOnly() {
		return
	}
	p.line(ink, 1, nil, point{a.at(c.Low), y}, point{a.at(c.High), y})
	for _, end := range []float64{c.Low, c.High} {
		if !math.IsInf(end, 0) {
			p.line(ink, 1, nil, point{a.at(end), y - 2}, point{a.at(end), y + 2})
		}
	}
	p.mark(of.symbol, ink, point{a.at(c.Estimate), y}, 2)
}
