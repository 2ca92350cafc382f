package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

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
	Share  float64
	Note   int // number of the reason below the table; 0 for none
	value  float64
	reason string
}

// usageTable are the figures of one subject.
type usageTable struct {
	Title   string
	Columns []string
	Rows    []usageRow
	Reasons []string // why figures are missing, by their numbers
	Nothing []string // what is 0 in all rows: it has no column
	Absent  []string // what no row has a figure of, with the reasons
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
		{"page cache mean", "B", false, func(u *sample.Usage) sample.Figure { return u.CacheMean }},
		{"threads peak", "", false, func(u *sample.Usage) sample.Figure { return u.ThreadsPeak }},
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

func (p *page) usageTable(w workloadView, columns []usageColumn) (table usageTable) {
	var trials [][]*sample.Usage
	p.eachUsage(w, func(e *environmentView, level string, of []*sample.Usage) {
		table.Rows = append(table.Rows, usageRow{Environment: e, Level: level})
		trials = append(trials, of)
	})
	for _, column := range columns {
		cells := make([]usageCell, len(trials))
		largest, figures := 0., 0
		var reasons []string
		for i, of := range trials {
			c, reason := usageOf(of, column)
			if cells[i] = c; reason == "" {
				figures++
				largest = math.Max(largest, math.Abs(c.value))
			}
			if cells[i].reason = reason; reason != "" && !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
		switch {
		case figures == 0:
			table.Absent = without(table.Absent, column.name, strings.Join(reasons, "; "))
			continue
		case largest == 0 && figures == len(cells):
			table.Nothing = append(table.Nothing, column.name)
			continue
		}
		table.Columns = append(table.Columns, column.name)
		for i, c := range cells {
			if c.reason != "" {
				c.Note = table.reason(c.reason)
			} else if column.bar && largest > 0 {
				c.Share = math.Round(1000*c.value/largest) / 10
			}
			table.Rows[i].Cells = append(table.Rows[i].Cells, c)
		}
	}
	return table
}

// without adds why there is no column of something: once for all that is missing
// for the same reason.
func without(lines []string, name, reason string) []string {
	for i, line := range lines {
		if before, same := strings.CutSuffix(line, ": "+reason); same {
			lines[i] = before + ", " + name + ": " + reason
			return lines
		}
	}
	return append(lines, name+": "+reason)
}

// usageOf is the median of a figure over trials, or the reason why it is missing.
func usageOf(trials []*sample.Usage, column usageColumn) (c usageCell, reason string) {
	c = usageCell{Share: -1, Text: missing}
	var values []float64
	reasons := map[string]int{}
	for _, u := range trials {
		if f := column.of(u); f.Missing == "" {
			values = append(values, f.Value)
		} else {
			reasons[f.Missing]++
		}
	}
	if len(values) == 0 {
		return c, mostFrequent(reasons)
	}
	c.value = median(values)
	if c.Text = figure(c.value, column.unit); column.unit == "" && c.value < 1000 && c.value == math.Trunc(c.value) {
		c.Text = strconv.Itoa(int(c.value)) // a few of something
	}
	return c, ""
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
