package text

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/workload"
)

// WriteColumns writes a short table: a row for each metric that title names, and a column
// for each environment, with the value and the verdict, and below them the change against
// the baseline with its interval. After it come what was skipped and what failed.
func WriteColumns(w io.Writer, in model.Input, title func(workload string, m workload.Metric) string, o model.Options) error {
	v := model.New(in)
	t := newTerminal(o)
	t.wrap(0, t.paint(bold, term.Cell(v.Plan.Study))+"  "+v.Manifest.Run)
	t.WriteString("\n")
	t.columns(columnsOf(v, title))
	t.WriteString("\n")
	t.wrap(0, fmt.Sprintf("median and verdict; below, the change against %s with its interval (%s, margin %s); a change is the typical one within blocks, which that of the medians can differ from", v.Base.Shown, v.Plan.Design.Confidence, v.Plan.Design.Margin))
	if note := v.Footnote(); note != "" {
		t.wrap(0, note+"; `tare parity "+v.Manifest.Run+"` shows what")
	}
	t.skipped(v)
	t.failures("Failed trials", v.Failed)
	t.failures("Skipped trials", v.Known)
	_, err := io.WriteString(w, t.String())
	return err
}

// column is one environment: its name, then for each metric the two lines of its cell.
type column struct {
	name  string
	cells [][2]string
}

// columnsOf are the titles of the metrics, the baseline, and the other environments.
func columnsOf(v *model.Report, title func(string, workload.Metric) string) []column {
	titles, base := column{}, column{name: v.Base.Shown}
	var others []column
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, m := range l.Metrics {
				name := title(w.Name, m.Metric)
				cells := m.Ran()
				if name == "" || math.IsNaN(m.Reference) && len(cells) == 0 {
					continue
				}
				titles.cells = append(titles.cells, [2]string{name})
				base.cells = append(base.cells, [2]string{model.ShortFigure(m.Reference, m.Unit)})
				for i, c := range cells {
					if i == len(others) {
						others = append(others, column{name: c.Environment.Shown})
					}
					others[i].cells = append(others[i].cells, cellLines(c, m))
				}
			}
		}
	}
	return append([]column{titles, base}, others...)
}

func cellLines(c model.Cell, m model.Metric) [2]string {
	k := c.Contrast
	switch {
	case k == nil:
		return [2]string{model.Missing, c.Reason}
	case k.NoRatio():
		return [2]string{model.ShortFigure(c.Median, m.Unit), model.NoRatioReason(k)}
	}
	return [2]string{
		model.ShortFigure(c.Median, m.Unit) + "  " + model.VerdictWord(k) + model.ConfoundMark(k),
		model.EstimateText(k) + " " + model.IntervalText(k),
	}
}

// columns writes as many environments side by side as fit, the metrics and the baseline
// before each group of them.
func (t *terminal) columns(all []column) {
	fixed, others := all[:2], all[2:]
	for first := true; first || len(others) > 0; first = false {
		n := len(others)
		for n > 1 && columnsWidth(append(fixed[:2:2], others[:n]...)) > t.Width {
			n--
		}
		if !first {
			t.WriteString("\n")
		}
		t.table(append(fixed[:2:2], others[:n]...))
		others = others[n:]
	}
}

const columnGap = 2

func (c column) width() int {
	n := ansi.StringWidth(c.name)
	for _, cell := range c.cells {
		n = max(n, ansi.StringWidth(cell[0]), ansi.StringWidth(cell[1]))
	}
	return n
}

func columnsWidth(all []column) int {
	total := -columnGap
	for _, c := range all {
		total += c.width() + columnGap
	}
	return total
}

func (t *terminal) table(all []column) {
	line := func(of func(column) string) string {
		var text strings.Builder
		for _, c := range all {
			cell := term.Cell(of(c))
			text.WriteString(cell + strings.Repeat(" ", max(0, c.width()-ansi.StringWidth(cell))+columnGap))
		}
		return ansi.Truncate(strings.TrimRight(text.String(), " "), t.Width, "…")
	}
	t.WriteString(t.paint(dim, line(func(c column) string { return c.name })) + "\n")
	for i := range all[0].cells {
		lines := lists.Map([]int{0, 1}, func(k int) string {
			return line(func(c column) string {
				if i < len(c.cells) {
					return c.cells[i][k]
				}
				return ""
			})
		})
		t.WriteString(lines[0] + "\n")
		if lines[1] != "" {
			t.WriteString(lines[1] + "\n")
		}
	}
}
