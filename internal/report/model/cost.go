package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/rundir"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
)

// CostTable is the cost of a thousand operations of a workload: a row for each
// environment and level, a column for each cost that any of them has a value of.
type CostTable struct {
	Columns []string
	Rows    []CostRow
	Reasons []string // why values or changes are missing, numbered from 1
	Nothing []string // costs that are 0 in all environments, which have no column
	Absent  []string // costs that no environment has a value of, with the reason
}

// CostRow has the costs of one environment at one level.
type CostRow struct {
	Environment *Environment
	Level       string
	Cells       []CostCell
}

// CostCell is one cost, with its change vs the baseline.
type CostCell struct {
	Text   string
	Value  float64
	Change string // vs the baseline, in words; "" for none
	// Contrast that the change is of; nil for none.
	Contrast *verdict.Contrast
	Note     int // number of the reason; 0 for none
}

// CostTable returns the costs of a workload at these levels: all, or those that are
// not shown with the primary metrics.
func (v *Report) CostTable(w Workload, levels []Level, all bool) (table CostTable) {
	var columns []Metric
	for _, m := range (Workload{Levels: levels}).AllMetrics() {
		if c, known := cost.Lookup(m.Name); known && (all || !m.Companion) {
			columns = append(columns, m)
			table.Columns = append(table.Columns, c.Title)
		}
	}
	// What no environment has is listed without a column.
	for _, m := range w.Pack.Metrics {
		c, known := cost.Lookup(m.Name)
		everywhere := !slices.ContainsFunc(levels, func(l Level) bool { return !v.absent[l.Place(w).Of(m.Name)] })
		if known && everywhere {
			table.Absent = without(table.Absent, c.Title, v.missingReason(w.Name, levels[0].Name, m.Name, v.Plan.Baseline))
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
			row := CostRow{Environment: e, Level: l.Name}
			for _, column := range columns {
				at := slices.IndexFunc(l.Metrics, func(m Metric) bool { return m.Name == column.Name })
				if at < 0 {
					row.Cells = append(row.Cells, CostCell{Text: Missing, Value: math.NaN(), Note: table.because(v.missingReason(w.Name, l.Name, column.Name, e.Name))})
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

// clear removes the columns that are 0 in all rows, and the reasons that only they
// have.
func (t *CostTable) clear() {
	var columns []string
	rows, reasons := make([]CostRow, len(t.Rows)), t.Reasons
	for i, r := range t.Rows {
		rows[i] = CostRow{Environment: r.Environment, Level: r.Level}
	}
	t.Reasons = nil
	for k, name := range t.Columns {
		if !slices.ContainsFunc(t.Rows, func(r CostRow) bool { return r.Cells[k].Value != 0 }) {
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

func (t *CostTable) cell(v *Report, m Metric, workload, level string, e *Environment) CostCell {
	unit := ShortUnit(m.Unit)
	if e.Baseline {
		c := CostCell{Text: Figure(m.Reference, unit), Value: m.Reference}
		if math.IsNaN(m.Reference) {
			c.Note = t.because(v.missingReason(workload, level, m.Name, e.Name))
		}
		return c
	}
	of := m.Cells[v.cellIndex(e)]
	c := CostCell{Text: Figure(of.Median, unit), Value: of.Median, Contrast: of.Contrast}
	switch {
	case of.Contrast != nil:
		c.Change = costChange(of.Contrast)
	case math.IsNaN(of.Median):
		c.Note = t.because(of.Reason)
	case math.IsNaN(m.Reference) || of.Median == 0 && m.Reference == 0: // no change to explain
	case of.NoRatio:
		c.Note = t.because("no change: one side is 0, so there is no ratio")
	default:
		c.Note = t.because("no change: " + of.Reason)
	}
	return c
}

// because returns the number of a reason.
func (t *CostTable) because(reason string) int {
	if i := slices.Index(t.Reasons, reason); i >= 0 {
		return i + 1
	}
	t.Reasons = append(t.Reasons, reason)
	return len(t.Reasons)
}

// missingReason is why a metric has no value in the trials of an environment.
func (v *Report) missingReason(workload, level, metric, environment string) string {
	reasons := map[string]int{}
	for _, t := range v.Trials {
		if t.Workload == workload && t.Level == level && t.Environment == environment && t.Status == rundir.OK && t.Missing[metric] != "" {
			reasons[t.Missing[metric]]++
		}
	}
	if why := mostFrequent(reasons); why != "" {
		return why
	}
	return "no trial has a value"
}

// costChange words a change of a cost: 4.0% more, 2.1% less, equivalent. In
// brackets it is no verdict.
func costChange(c *verdict.Contrast) string {
	size := EstimateText(c)
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
		return size // a factor
	}
	return "(" + size + ")"
}

// String is a cell as one text.
func (c CostCell) String() string {
	text := c.Text
	if c.Change != "" {
		text += " " + c.Change
	}
	if c.Note > 0 {
		text += fmt.Sprintf(" [%d]", c.Note)
	}
	return text
}

// Undecided reports whether any change has no verdict.
func (t CostTable) Undecided() bool {
	return slices.ContainsFunc(t.Rows, func(r CostRow) bool {
		return slices.ContainsFunc(r.Cells, func(c CostCell) bool { return strings.HasPrefix(c.Change, "(") })
	})
}

// CostsWithoutColumn are the costs that have no column, in any workload: those that are 0
// everywhere, and those that no environment has a figure of.
func (v *Report) CostsWithoutColumn() (lines []string) {
	var nothing []string
	where := map[string][]string{}
	for _, w := range v.Workloads {
		for _, name := range v.CostTable(w, w.Levels, true).Nothing {
			if where[name] == nil {
				nothing = append(nothing, name)
			}
			where[name] = append(where[name], w.Name)
		}
	}
	for _, name := range nothing {
		line := name + ": 0 in all environments"
		if len(where[name]) < len(v.Workloads) {
			line += " (" + strings.Join(where[name], ", ") + ")"
		}
		lines = append(lines, line)
	}
	return append(lines, v.CostsWithoutValue()...)
}

// CostsWithoutValue are the costs that no environment has a figure of.
func (v *Report) CostsWithoutValue() (lines []string) {
	for _, w := range v.Workloads {
		for _, line := range v.CostTable(w, w.Levels, true).Absent {
			if line = "no value for " + line; !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
