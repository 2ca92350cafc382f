package report

import (
	"math"
	"strconv"

	"tare/internal/sample"
)

// usageRow is what one environment used in a trial of one workload at one
// level: medians over the trials.
type usageRow struct {
	Environment *environmentView
	Level       string
	Cells       []usageCell
}

type usageCell struct {
	Text string
	// Share of the column's largest figure, for a bar; negative for none.
	Share float64
	Note  int // number of the reason below the table; 0 for none
	value float64
}

// usageTable are the figures of one subject.
type usageTable struct {
	Title   string
	Columns []string
	Rows    []usageRow
	Reasons []string
}

// usageIn is a table with the workload that it is of.
type usageIn struct {
	Workload workloadView
	Table    usageTable
}

type usageColumn struct {
	name string
	unit string
	bar  bool
	of   func(*sample.Usage) sample.Figure
}

// usageSubjects are the tables, each narrow enough to be read.
var usageSubjects = []struct {
	title   string
	columns []usageColumn
}{
	{"Processor and memory", []usageColumn{
		{"CPU user", "s", true, func(u *sample.Usage) sample.Figure { return u.CPUUser }},
		{"CPU system", "s", true, func(u *sample.Usage) sample.Figure { return u.CPUSystem }},
		{"throttled", "s", false, func(u *sample.Usage) sample.Figure { return u.CPUThrottled }},
		{"memory peak", "B", true, func(u *sample.Usage) sample.Figure { return u.MemoryPeak }},
		{"memory mean", "B", true, func(u *sample.Usage) sample.Figure { return u.MemoryMean }},
		{"page cache, mean", "B", false, func(u *sample.Usage) sample.Figure { return u.CacheMean }},
		{"threads, peak", "", false, func(u *sample.Usage) sample.Figure { return u.ThreadsPeak }},
	}},
	{"Storage and network", []usageColumn{
		{"read", "B", false, func(u *sample.Usage) sample.Figure { return u.DiskRead }},
		{"written", "B", false, func(u *sample.Usage) sample.Figure { return u.DiskWritten }},
		{"read operations", "", false, func(u *sample.Usage) sample.Figure { return u.DiskReads }},
		{"write operations", "", false, func(u *sample.Usage) sample.Figure { return u.DiskWrites }},
		{"received", "B", false, func(u *sample.Usage) sample.Figure { return u.NetReceived }},
		{"sent", "B", false, func(u *sample.Usage) sample.Figure { return u.NetSent }},
		{"packets received", "", false, func(u *sample.Usage) sample.Figure { return u.PacketsIn }},
		{"packets sent", "", false, func(u *sample.Usage) sample.Figure { return u.PacketsOut }},
	}},
	{"Switches, faults and waiting", []usageColumn{
		{"context switches", "", true, func(u *sample.Usage) sample.Figure { return u.Switches }},
		{"minor faults", "", false, func(u *sample.Usage) sample.Figure { return u.MinorFaults }},
		{"major faults", "", false, func(u *sample.Usage) sample.Figure { return u.MajorFaults }},
		{"waited for CPU", "s", true, func(u *sample.Usage) sample.Figure { return u.StallCPU }},
		{"waited for storage", "s", false, func(u *sample.Usage) sample.Figure { return u.StallIO }},
		{"waited for memory", "s", false, func(u *sample.Usage) sample.Figure { return u.StallMemory }},
	}},
}

// Usage of a workload, by subject; none where no trial has any.
func (p *page) Usage(w workloadView) (tables []usageTable) {
	for _, subject := range usageSubjects {
		if table := p.usageTable(w, subject.columns); len(table.Rows) > 0 {
			table.Title = subject.title
			tables = append(tables, table)
		}
	}
	return tables
}

// eachUsage visits the usages of a workload's trials, an environment at a level
// at a time.
func (p *page) eachUsage(w workloadView, visit func(e *environmentView, level string, trials []*sample.Usage)) {
	for _, l := range w.Levels {
		for i := range p.Environments {
			e := &p.Environments[i]
			if trials := p.usages[where{workload: w.Name, level: l.Name, environment: e.Name}]; len(trials) > 0 {
				visit(e, l.Name, trials)
			}
		}
	}
}

func (p *page) usageTable(w workloadView, columns []usageColumn) usageTable {
	var table usageTable
	for _, c := range columns {
		table.Columns = append(table.Columns, c.name)
	}
	largest := make([]float64, len(columns))
	p.eachUsage(w, func(e *environmentView, level string, trials []*sample.Usage) {
		row := usageRow{Environment: e, Level: level}
		for k, column := range columns {
			c := table.cell(trials, column.of, column.unit)
			if column.bar && c.Note == 0 {
				c.Share = 0
				largest[k] = math.Max(largest[k], c.value)
			}
			row.Cells = append(row.Cells, c)
		}
		table.Rows = append(table.Rows, row)
	})
	for _, row := range table.Rows {
		for k := range row.Cells {
			if c := &row.Cells[k]; c.Share == 0 && largest[k] > 0 {
				c.Share = math.Round(1000*c.value/largest[k]) / 10
			}
		}
	}
	return table
}

// cell is the median of a figure, or a number for the reason why it is missing.
func (t *usageTable) cell(trials []*sample.Usage, of func(*sample.Usage) sample.Figure, unit string) usageCell {
	c := usageCell{Share: -1, Text: missing}
	var values []float64
	reasons := map[string]int{}
	for _, u := range trials {
		if f := of(u); f.Missing == "" {
			values = append(values, f.Value)
		} else {
			reasons[f.Missing]++
		}
	}
	if len(values) > 0 {
		c.value = median(values)
		if c.Text = figure(c.value, unit); unit == "" && c.value < 1000 && c.value == math.Trunc(c.value) {
			c.Text = strconv.Itoa(int(c.value)) // a few of something
		}
	} else {
		c.Note = t.reason(mostFrequent(reasons))
	}
	return c
}

func (t *usageTable) reason(text string) int {
	for i, r := range t.Reasons {
		if r == text {
			return i + 1
		}
	}
	t.Reasons = append(t.Reasons, text)
	return len(t.Reasons)
}
