package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/bundle"
	"tare/internal/cost"
	"tare/internal/verdict"
)

// costTable is what a thousand operations of a workload cost: a row an
// environment at a level, a column a cost that any of them has a figure of.
type costTable struct {
	Columns []string
	Rows    []costRow
	Reasons []string // why figures or changes are missing, by their numbers
	Absent  []string // costs that no environment has a figure of, with the reason
}

type costRow struct {
	Environment *environmentView
	Level       string
	Cells       []costCell
}

type costCell struct {
	Text   string
	Change string // against the baseline, in words; "" where there is nothing to say
	// Contrast that the change is of; nil for none.
	Contrast *contrast
	Note     int // number of the reason; 0 for none
}

// costs of these levels of a workload, all of them or those that have no table
// of their own beside the primary metrics.
func (v *view) costs(w workloadView, levels []levelView, all bool) (table costTable) {
	var columns []metricView
	for _, m := range (workloadView{Levels: levels}).metrics() {
		if c, known := cost.Lookup(m.Name); known && (all || !m.Companion) {
			columns = append(columns, m)
			table.Columns = append(table.Columns, c.Title)
		}
	}
	// What no environment has is said without a column.
	for _, m := range w.Pack.Metrics {
		c, known := cost.Lookup(m.Name)
		everywhere := !slices.ContainsFunc(levels, func(l levelView) bool { return !v.absent[where{workload: w.Name, level: l.Name, metric: m.Name}] })
		if known && everywhere {
			table.Absent = append(table.Absent, c.Title+": "+v.why(w.Name, levels[0].Name, m.Name, v.Plan.Baseline))
		}
	}
	if len(columns) == 0 {
		return table
	}
	for _, l := range levels {
		for i := range v.Environments {
			e := &v.Environments[i]
			if !e.Ran() || e.Rung {
				continue
			}
			row := costRow{Environment: e, Level: l.Name}
			for _, column := range columns {
				at := slices.IndexFunc(l.Metrics, func(m metricView) bool { return m.Name == column.Name })
				if at < 0 {
					row.Cells = append(row.Cells, costCell{Text: missing, Note: table.because(v.why(w.Name, l.Name, column.Name, e.Name))})
					continue
				}
				row.Cells = append(row.Cells, table.cell(v, l.Metrics[at], w.Name, l.Name, e))
			}
			table.Rows = append(table.Rows, row)
		}
	}
	return table
}

func (t *costTable) cell(v *view, m metricView, workload, level string, e *environmentView) costCell {
	unit := strings.TrimSuffix(m.Unit, cost.PerUnit)
	if e.Baseline {
		c := costCell{Text: figure(m.Reference, unit)}
		if math.IsNaN(m.Reference) {
			c.Note = t.because(v.why(workload, level, m.Name, e.Name))
		}
		return c
	}
	of := m.Cells[v.cellOf(e)]
	c := costCell{Text: figure(of.Median, unit), Contrast: of.Contrast}
	switch {
	case of.Contrast != nil:
		c.Change = costChange(of.Contrast)
	case math.IsNaN(of.Median):
		c.Note = t.because(of.Reason)
	case !math.IsNaN(m.Reference) && of.Reason != zeroBoth:
		c.Note = t.because("no change: " + of.Reason)
	}
	return c
}

// zeroBoth is a change that nobody asks for.
const zeroBoth = "0 on both sides: there is no ratio to make"

// because numbers a reason.
func (t *costTable) because(reason string) int {
	if i := slices.Index(t.Reasons, reason); i >= 0 {
		return i + 1
	}
	t.Reasons = append(t.Reasons, reason)
	return len(t.Reasons)
}

// why a metric has no figure in the trials of an environment.
func (v *view) why(workload, level, metric, environment string) string {
	reasons := map[string]int{}
	for _, t := range v.Trials {
		if t.Workload == workload && t.Level == level && t.Environment == environment && t.Status == bundle.OK && t.Missing[metric] != "" {
			reasons[t.Missing[metric]]++
		}
	}
	if why := mostFrequent(reasons); why != "" {
		return why
	}
	return "no trial has a figure"
}

// costChange words a change of a cost: 4.0% more, 2.1% less, equivalent. In
// brackets it is no verdict.
func costChange(c *contrast) string {
	size := change(middle(c))
	switch c.Verdict {
	case verdict.Equivalent:
		return "equivalent"
	case verdict.Slower, verdict.Faster:
		switch {
		case strings.HasPrefix(size, "+"):
			return size[1:] + " more"
		case strings.HasPrefix(size, "-"):
			return size[1:] + " less"
		}
		return size // so many times as much
	}
	return "(" + size + ")"
}

// String is a cell as one text.
func (c costCell) String() string {
	text := c.Text
	if c.Change != "" {
		text += " " + c.Change
	}
	if c.Note > 0 {
		text += fmt.Sprintf(" [%d]", c.Note)
	}
	return text
}

// Costs of a workload at all its levels.
func (p *page) Costs(w workloadView) costTable { return p.costs(w, w.Levels, true) }

// costs prints what else than CPU time a thousand operations cost, in pieces of
// a few columns each where it is too wide for one.
func (t *terminal) costs(table costTable) {
	if len(table.Columns) == 0 || t.All {
		return // each of them has rows of its own
	}
	t.wrap(2, t.paint(dim, "other costs of a thousand operations"))
	for first, next := 0, 0; first < len(table.Columns); first = next {
		next = len(table.Columns)
		for next > first+1 && width(table.piece(first, next)) > t.Width {
			next--
		}
		t.rows(table.piece(first, next))
	}
	for i, reason := range table.Reasons {
		t.wrap(2, fmt.Sprintf("[%d] %s", i+1, reason))
	}
}

// piece are the rows with the costs from first up to last: of each the figure,
// and where any environment has one the change.
func (t costTable) piece(first, last int) [][]string {
	rows := [][]string{{""}}
	for _, r := range t.Rows {
		rows = append(rows, []string{r.Environment.Shown})
	}
	for k := first; k < last; k++ {
		figures, changes, changed := []string{t.Columns[k]}, []string{""}, false
		for _, r := range t.Rows {
			c := r.Cells[k]
			note := ""
			if c.Note > 0 {
				note = fmt.Sprintf(" [%d]", c.Note)
			}
			figures, changes = append(figures, c.Text+note), append(changes, c.Change)
			changed = changed || c.Change != ""
		}
		for i := range rows {
			rows[i] = append(rows[i], figures[i])
			if changed {
				rows[i] = append(rows[i], changes[i])
			}
		}
	}
	return rows
}

// costless are the costs that no environment has a figure of, in any workload.
func (v *view) costless() (lines []string) {
	for _, w := range v.Workloads {
		for _, line := range v.costs(w, w.Levels, true).Absent {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func (t *terminal) costless(v *view) {
	if lines := v.costless(); len(lines) > 0 {
		t.WriteString("\n")
		t.wrap(0, t.paint(dim, "costs without a figure"))
		for _, line := range lines {
			t.wrap(2, line)
		}
	}
}

func markdownCosts(b *strings.Builder, v *view) {
	begun := false
	for _, w := range v.Workloads {
		table := v.costs(w, w.Levels, true)
		if len(table.Columns) == 0 {
			continue
		}
		if !begun {
			fmt.Fprintf(b, "\n## Cost of a thousand operations\n\nOf the whole environment, against %s. In brackets: no verdict.\n", escape(v.Plan.Baseline))
			begun = true
		}
		fmt.Fprintf(b, "\n| %s | %s |\n|---|%s\n", escape(w.Name), strings.Join(table.Columns, " | "), strings.Repeat("---|", len(table.Columns)))
		for _, r := range table.Rows {
			name := r.Environment.Shown
			if r.Level != "" {
				name = r.Level + ", " + name
			}
			b.WriteString("| " + escape(name))
			for _, c := range r.Cells {
				b.WriteString(" | " + escape(c.String()))
			}
			b.WriteString(" |\n")
		}
		if len(table.Reasons) > 0 {
			b.WriteString("\n")
		}
		for i, reason := range table.Reasons {
			fmt.Fprintf(b, "%d. %s\n", i+1, escape(reason))
		}
	}
	for _, line := range v.costless() {
		fmt.Fprintf(b, "\nNo figure of %s.\n", escape(line))
	}
}
