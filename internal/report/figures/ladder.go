package figures

import (
	"math"
	"slices"

	"tare/internal/attribution/analysis"
	"tare/internal/report/model"
)

// ladder draws an attribution as a waterfall: each part begins where the parts before it
// end.
func ladder(v *model.Report, a analysis.Attribution) *picture {
	const height, second, foot = 14.0, 8.0, 24.0
	rows := model.WhyRows(a)
	if len(rows) == 0 {
		return nil
	}
	p := &picture{name: "ladder-" + a.Workload + "-" + a.Level + "-" + a.Metric, title: model.WhyHeading(a), width: column}
	names, texts := make([]string, len(rows)), make([]string, len(rows))
	label, right := 0.0, 0.0
	var reached []float64
	for i, s := range rows {
		names[i] = s.Name
		if s.Part == "" {
			names[i] = "total: " + v.ShownName(a.To)
		}
		texts[i] = minus(model.EstimateText(&s.Contrast)) + model.ConfoundMark(&s.Contrast)
		label, right = math.Max(label, widthOf(names[i], textSize)), math.Max(right, widthOf(texts[i], textSize))
		reached = append(reached, s.Before, s.Before+s.Contrast.Estimate)
		if s.Contrast.Bounded() {
			reached = append(reached, s.Before+s.Contrast.Low, s.Before+s.Contrast.High)
		}
	}
	label, right = math.Min(label, column*.4)+5, right+5
	lines, top, bottom := make([][]string, len(rows)), make([]float64, len(rows)), 0.0
	for i := range rows {
		lines[i] = wrap(names[i], label-4)
		top[i] = bottom
		bottom += height + second*float64(len(lines[i])-1)
	}
	scale := newChanges(v.Margin(), true, reached)
	scale.from, scale.to = label, column-right
	p.height = bottom + foot
	for _, d := range scale.ticks(28) {
		p.line(grid, .5, nil, point{scale.at(d), 0}, point{scale.at(d), bottom})
		p.tick(scale.at(d), bottom+9, tickText(d))
	}
	p.line(soft, .7, nil, point{scale.at(0), 0}, point{scale.at(0), bottom})
	for i, s := range rows {
		y, c := top[i], s.Contrast
		if s.Part == "" {
			p.line(ink, .6, nil, point{0, y}, point{column, y})
		}
		for j, text := range lines[i] {
			p.say(ink, textSize, begins, 0, y+height/2+2.5+second*float64(j), text)
		}
		p.say(ink, textSize, ends, column, y+height/2+2.5, texts[i])
		if math.IsNaN(c.Estimate) || c.N == 0 {
			continue
		}
		from, to := scale.at(s.Before), scale.at(s.Before+c.Estimate)
		fill := look(&c).strong
		if !s.Material && s.Part != "" {
			fill = pale // what is not material is no more than grey
		}
		p.rect(fill, math.Min(from, to), y+3, math.Max(.8, math.Abs(to-from)), height-6)
		if c.Bounded() {
			low, high := scale.at(s.Before+c.Low), scale.at(s.Before+c.High)
			p.line(white, 2, nil, point{low, y + height/2}, point{high, y + height/2})
			p.line(ink, .9, nil, point{low, y + height/2}, point{high, y + height/2})
			for _, x := range []float64{low, high} {
				p.line(ink, .9, nil, point{x, y + height/2 - 2}, point{x, y + height/2 + 2})
			}
		}
		if i+1 < len(rows) && rows[i+1].Part != "" && s.Part != "" {
			p.line(soft, .5, []float64{1.5, 1.5}, point{to, y + height - 3}, point{to, top[i+1] + 3})
		}
	}
	p.axisTitle(label, column-right, p.height-4, "change against "+v.ShownName(a.From)+", "+a.Metric+", "+a.Better+" is better")
	if slices.ContainsFunc(rows, func(s analysis.Share) bool { return model.ConfoundMark(&s.Contrast) != "" }) {
		p.note(confounded)
	}
	return p
}
