package text

import (
	"fmt"
	"io"
	"math"

	"tare/internal/report/model"
	"tare/internal/report/section"
	"tare/internal/workload"
)

// WriteColumns writes a short table: a row for each metric that title names, and a column
// for each environment, with the value and the verdict, and below them the change against
// the baseline with its interval. Before it comes what a reader decides by, after it what was
// skipped and what failed.
func WriteColumns(w io.Writer, in model.Input, title func(workload string, m workload.Metric) string, o model.Options) error {
	v := model.New(in)
	t := newTerminal(o)
	t.title(v)
	first, others := section.Split(t.of(v, section.Columns))
	t.sections(first)
	t.WriteString("\n")
	t.table(columnsOf(v, title))
	t.WriteString("\n")
	t.wrap(0, fmt.Sprintf("median and verdict; below, the change against %s with its interval (%s, margin %s); a change is the typical one within blocks, which that of the medians can differ from", v.Base.Shown, v.Plan.Design.Confidence, v.Plan.Design.Margin))
	if note := v.Footnote(); note != "" {
		t.wrap(0, note+"; `tare parity "+v.Manifest.Run+"` shows what")
	}
	t.sections(others)
	return t.to(w)
}

// columnsOf is the table: the titles of the metrics, the baseline, and the other
// environments.
func columnsOf(v *model.Report, title func(string, workload.Metric) string) *section.Table {
	t := &section.Table{Pieces: true, Columns: []section.Column{{Key: true}, {Head: v.Base.Shown}}}
	for _, r := range v.Rows() {
		m, cells := r.Metric, r.Metric.Ran()
		name := title(r.Workload.Name, m.Metric)
		if name == "" || math.IsNaN(m.Reference) && len(cells) == 0 {
			continue
		}
		values, changes := []any{name, model.ShortFigure(m.Reference, m.Unit)}, []any{"", ""}
		for i, c := range cells {
			if i+2 == len(t.Columns) {
				t.Columns = append(t.Columns, section.Column{Head: c.Environment.Shown})
			}
			value, change := cellLines(c, m)
			values, changes = append(values, value), append(changes, change)
		}
		t.Rows = append(t.Rows, section.Line(values...), section.Line(changes...))
	}
	return t
}

func cellLines(c model.Cell, m model.Metric) (value, change string) {
	k := c.Contrast
	switch {
	case k == nil:
		return model.Missing, c.Reason
	case k.NoRatio():
		return model.ShortFigure(c.Median, m.Unit), model.NoRatioReason(k)
	}
	return model.ShortFigure(c.Median, m.Unit) + "  " + model.VerdictWord(k) + model.ConfoundMark(k), model.EstimateText(k) + " " + model.IntervalText(k)
}
