package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/verdict"
)

// matrixRow is a primary metric of a workload at a level.
type matrixRow struct {
	workload, name string
	metric         model.Metric
}

// mostRows of a matrix fit on a page.
const mostRows = 44

// matrix draws the verdicts: a row for each primary metric, a column for each environment.
func matrix(v *model.Report) (pictures []*picture) {
	environments := v.Compared()
	rows := lists.Map(v.Primary(), func(r model.Row) matrixRow {
		return matrixRow{r.Workload.Name, model.LevelTitle(r.Metric.Name, r.Level.Name), r.Metric}
	})
	if len(environments) == 0 || len(rows) == 0 {
		return nil
	}
	for from := 0; from < len(rows); from += mostRows {
		name := "verdicts"
		if from > 0 {
			name = fmt.Sprintf("verdicts-%d", from/mostRows+1)
		}
		pictures = append(pictures, matrixOf(v, name, rows[from:min(len(rows), from+mostRows)], environments))
	}
	return pictures
}

func matrixOf(v *model.Report, name string, rows []matrixRow, environments []model.Environment) *picture {
	const height, head, second, gap, widest, least = 11.5, 13.0, 8.0, 6.0, 90.0, 40.0
	p := &picture{name: name, title: "Verdicts against " + v.Base.Shown, width: column}
	label, needed := 0.0, 0.0
	for _, r := range rows {
		label = math.Max(label, widthOf(r.workload, textSize)+widthOf(r.name, textSize)+gap+4)
	}
	for _, e := range environments {
		needed += math.Max(least, math.Min(widest, widthOf(e.Shown, textSize)+4))
	}
	if label+needed > column*1.15 || needed > column*.66 {
		p.width = page
	}
	label = math.Min(label, math.Max(p.width-needed, p.width*.3))
	wide := math.Min(widest, (p.width-label)/float64(len(environments)))
	label = p.width - wide*float64(len(environments))
	names, top := make([][]string, len(environments)), head
	for i, e := range environments {
		if names[i] = wrap(e.Shown, wide-2); len(names[i]) > 1 {
			top = head + second
		}
	}
	for i, lines := range names {
		for k, text := range lines {
			p.say(ink, textSize, centred, label+wide*(float64(i)+.5), top-4.5-second*float64(len(lines)-1-k), text)
		}
	}
	y, before := top, ""
	for _, r := range rows {
		p.line(grid, .5, nil, point{0, y}, point{p.width, y})
		text := r.workload
		if r.workload == before {
			text = ""
		}
		before = r.workload
		shown := fit(text, label*.6)
		p.say(ink, textSize, begins, 0, y+8, shown)
		room := label - 4
		if shown != "" {
			room -= widthOf(shown, textSize) + gap - .01
		}
		p.say(soft, textSize, ends, label-4, y+8, fit(r.name, room))
		for j, e := range environments {
			p.matrixCell(r.metric.Cell(e.Name), label+wide*float64(j), y, wide, height)
		}
		y += height
	}
	p.line(grid, .5, nil, point{0, y}, point{p.width, y})
	var entries []entry
	for _, of := range []verdict.Verdict{verdict.Slower, verdict.Faster, verdict.Equivalent, verdict.Inconclusive} {
		if some(rows, environments, func(c *verdict.Contrast) bool { return c != nil && c.Verdict == of }) {
			entries = append(entries, entry{string(of), func(at point) { p.sign(of, at) }})
		}
	}
	var what []string
	for of, is := range map[string]bool{"median of the blocks": true, "estimate": false} {
		if some(rows, environments, func(c *verdict.Contrast) bool {
			return c != nil && c.Verdict == verdict.None && c.RangeOnly() == is
		}) {
			what = append(what, of)
		}
	}
	if len(what) > 0 {
		slices.Sort(what)
		entries = append(entries, entry{"( ): " + strings.Join(what, " or ") + ", no verdict", nil})
	}
	if some(rows, environments, func(c *verdict.Contrast) bool { return c != nil && model.ConfoundMark(c) != "" }) {
		entries = append(entries, entry{confounded, nil})
	}
	if some(rows, environments, func(c *verdict.Contrast) bool { return c == nil }) {
		entries = append(entries, entry{model.Missing + ": no value", nil})
	}
	p.height = y + 3 + p.legend(0, y+3, p.width, entries) + 1
	return p
}

// some reports whether a cell is so. A cell without a value has no contrast.
func some(rows []matrixRow, environments []model.Environment, is func(*verdict.Contrast) bool) bool {
	for _, r := range rows {
		for _, e := range environments {
			var of *verdict.Contrast
			if c := r.metric.Cell(e.Name); c != nil {
				of = c.Contrast
			}
			if is(of) {
				return true
			}
		}
	}
	return false
}

func (p *picture) matrixCell(c *model.Cell, x, y, wide, height float64) {
	if c == nil || c.Contrast == nil {
		p.say(soft, textSize, centred, x+wide/2, y+8, model.Missing)
		return
	}
	a := look(c.Contrast)
	p.rect(a.tint, x+.75, y+.75, wide-1.5, height-1.5)
	text := minus(strings.TrimSpace(model.EstimateText(c.Contrast)))
	if c.Contrast.Verdict == verdict.None {
		p.say(soft, textSize, centred, x+wide/2, y+8, "("+text+")"+model.ConfoundMark(c.Contrast))
		return
	}
	p.sign(c.Contrast.Verdict, point{x + 6, y + height/2})
	p.say(ink, textSize, ends, x+wide-4, y+8, text)
	if mark := model.ConfoundMark(c.Contrast); mark != "" {
		p.say(ink, textSize, begins, x+wide-4, y+8, mark) // aside, so that numbers stay in line
	}
}
