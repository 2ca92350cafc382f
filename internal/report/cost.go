package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/cost"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// costTable is what a thousand operations of a workload cost: a row an
// environment at a level, a column a cost that any of them has a figure of.
type costTable struct {
	Columns []string
	Rows    []costRow
	Reasons []string // why figures or changes are missing, by their numbers
	Nothing []string // costs that are 0 in all environments: they have no column
	Absent  []string // costs that no environment has a figure of, with the reason
}

type costRow struct {
	Environment *environmentView
	Level       string
	Cells       []costCell
}

type costCell struct {
	Text   string
	Value  float64
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
			table.Absent = without(table.Absent, c.Title, v.why(w.Name, levels[0].Name, m.Name, v.Plan.Baseline))
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
					row.Cells = append(row.Cells, costCell{Text: missing, Value: math.NaN(), Note: table.because(v.why(w.Name, l.Name, column.Name, e.Name))})
					continue
				}
				row.Cells = append(row.Cells, table.cell(v, l.Metrics[at], w.Name, l.Name, e))
			}
			table.Rows = append(table.Rows, row)
		}
	}
	table.clear()
	return table
}

// clear leaves out the columns that are 0 in all rows, and what was noted of
// them alone.
func (t *costTable) clear() {
	var columns []string
	rows, reasons := make([]costRow, len(t.Rows)), t.Reasons
	for i, r := range t.Rows {
		rows[i] = costRow{Environment: r.Environment, Level: r.Level}
	}
	t.Reasons = nil
	for k, name := range t.Columns {
		if !slices.ContainsFunc(t.Rows, func(r costRow) bool { return r.Cells[k].Value != 0 }) {
			t.Nothing = append(t.Nothing, name)
			continue
		}
		columns = append(columns, name)
		for i, r := range t.Rows {
			c := r.Cells[k]
			if c.Note > 0 {
				c.Note = t.because(reasons[c.Note-1])
			}
			rows[i].Cells = append(rows[i].Cells, c)
		}
	}
	t.Columns, t.Rows = columns, rows
}

func (t *costTable) cell(v *view, m metricView, workload, level string, e *environmentView) costCell {
	unit := nounless(m.Unit)
	if e.Baseline {
		c := costCell{Text: figure(m.Reference, unit), Value: m.Reference}
		if math.IsNaN(m.Reference) {
			c.Note = t.because(v.why(workload, level, m.Name, e.Name))
		}
		return c
	}
	of := m.Cells[v.cellOf(e)]
	c := costCell{Text: figure(of.Median, unit), Value: of.Median, Contrast: of.Contrast}
	switch {
	case of.Contrast != nil:
		c.Change = costChange(of.Contrast)
	case math.IsNaN(of.Median):
		c.Note = t.because(of.Reason)
	case math.IsNaN(m.Reference) || of.Median == 0 && m.Reference == 0: // nobody asks for a change
	case of.NoRatio:
		c.Note = t.because("no change is given where a side has 0: there is no ratio to make")
	default:
		c.Note = t.because("no change: " + of.Reason)
	}
	return c
}

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
		if t.Workload == workload && t.Level == level && t.Environment == environment && t.Status == rundir.OK && t.Missing[metric] != "" {
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
	heading := "other costs of a thousand operations"
	if table.undecided() {
		heading += " (in brackets: no verdict)"
	}
	t.wrap(2, t.paint(dim, heading))
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

// undecided says whether a change is in brackets.
func (t costTable) undecided() bool {
	return slices.ContainsFunc(t.Rows, func(r costRow) bool {
		return slices.ContainsFunc(r.Cells, func(c costCell) bool { return strings.HasPrefix(c.Change, "(") })
	})
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

// costless are the costs that have no column, in any workload: those that are 0
// everywhere, and those that no environment has a figure of.
func (v *view) costless() (lines []string) {
	var nothing []string
	where := map[string][]string{}
	for _, w := range v.Workloads {
		for _, name := range v.costs(w, w.Levels, true).Nothing {
			if where[name] == nil {
				nothing = append(nothing, name)
			}
			where[name] = append(where[name], w.Name)
		}
	}
	for _, name := range nothing {
		line := name + ": 0 in all environments"
		if len(where[name]) < len(v.Workloads) {
			line += " in " + strings.Join(where[name], ", ")
		}
		lines = append(lines, line)
	}
	return append(lines, v.figureless()...)
}

// figureless are the costs that no environment has a figure of.
func (v *view) figureless() (lines []string) {
	for _, w := range v.Workloads {
		for _, line := range v.costs(w, w.Levels, true).Absent {
			if line = "no figure of " + line; !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func (t *terminal) costless(v *view) {
	title, lines := "Costs without a column", v.costless()
	if t.All { // then what is 0 has its rows
		title, lines = "Costs without a figure", v.figureless()
	}
	if len(lines) == 0 {
		return
	}
	t.WriteString("\n")
	t.wrap(0, t.paint(bold, title))
	for _, line := range lines {
		t.wrap(2, line)
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
			fmt.Fprintf(b, "[%d] %s\n", i+1, escape(reason))
		}
	}
	if lines := v.costless(); len(lines) > 0 {
		b.WriteString("\nCosts without a column:\n\n")
		for _, line := range lines {
			fmt.Fprintf(b, "- %s\n", escape(line))
		}
	}
}
