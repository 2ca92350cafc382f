package text

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
	"tare/internal/base/term"
	"tare/internal/report/model"
)

func (t *terminal) rows(rows [][]string) {
	rows = lists.Map(rows, func(row []string) []string { return lists.Map(row, term.Cell) })
	widths := columns(rows)
	for i, row := range rows {
		var line strings.Builder
		for j, text := range row {
			pad := strings.Repeat(" ", widths[j]-ansi.StringWidth(text))
			if j == 0 {
				line.WriteString("  " + text + pad)
			} else {
				line.WriteString("  " + pad + text)
			}
		}
		text := ansi.Truncate(strings.TrimRight(line.String(), " "), t.Width, "…")
		if i == 0 {
			text = t.paint(dim, text)
		}
		t.WriteString(text + "\n")
	}
}

func columns(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for j, text := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], ansi.StringWidth(text))
		}
	}
	return widths
}

func width(rows [][]string) int {
	total := 0
	for _, n := range columns(rows) {
		total += n + 2
	}
	return total
}

// level prints one table: below each metric's name the environments.
func (t *terminal) level(v *model.Report, w model.Workload, l model.Level) {
	var rows [][]string
	headings := map[int]string{}
	for _, m := range l.Metrics {
		if !t.All && !m.Primary && !m.Companion {
			continue
		}
		headings[len(rows)] = m.Heading()
		rows = append(rows, []string{v.Base.Shown, model.ShortFigure(m.Reference, m.Unit), t.paint(dim, "baseline"), "", "", ""})
		for _, c := range m.Cells {
			if !c.Environment.Ran() {
				continue // listed once, with its fix
			}
			rows = append(rows, t.row(c, m))
			if c.Contrast != nil && model.Remark(c.Contrast) != "" {
				rows = append(rows, []string{"", model.Remark(c.Contrast)})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	title := model.LevelTitle(w.Name, l.Name)
	t.heading(title)
	widths := t.widths(rows)
	for i, r := range rows {
		if h, ok := headings[i]; ok {
			t.wrap(2, t.paint(dim, h))
		}
		t.line(r, widths)
	}
}

func (t *terminal) row(c model.Cell, m model.Metric) []string {
	name := c.Environment.Shown
	if c.Contrast == nil {
		return []string{name, model.Missing, c.Reason}
	}
	k := c.Contrast
	return []string{name, model.ShortFigure(c.Median, m.Unit), model.EstimateText(k), model.IntervalText(k), t.verdict(model.VerdictWord(k)) + model.ConfoundMark(k), model.BlockCount(k)}
}

// widths fits the columns into the terminal: where they are too many, the last
// but the verdict go first.
func (t *terminal) widths(rows [][]string) []int {
	widths := make([]int, 6)
	for _, r := range rows {
		if len(r) < len(widths) {
			continue
		}
		for i, text := range r {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	for _, r := range rows { // names of rows that have but a reason
		widths[0] = max(widths[0], ansi.StringWidth(r[0]))
	}
	for _, drop := range []int{5, 1, 3} {
		total := 2
		for _, n := range widths {
			if n > 0 {
				total += n + 2
			}
		}
		if total <= t.Width+2 {
			break
		}
		widths[drop] = 0
	}
	return widths
}

func (t *terminal) line(r []string, widths []int) {
	r = lists.Map(r, term.Cell)
	if len(r) < len(widths) {
		t.wrap(2, r[0]+strings.Repeat(" ", max(0, widths[0]-ansi.StringWidth(r[0])))+"  "+strings.Join(r[1:], ", "))
		return
	}
	var line strings.Builder
	for i, text := range r {
		if widths[i] == 0 {
			continue
		}
		pad := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(text)))
		line.WriteString("  ")
		if i == 1 || i == 2 {
			line.WriteString(pad + text)
		} else {
			line.WriteString(text + pad)
		}
	}
	t.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
