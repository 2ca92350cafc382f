package model

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/stats"
	"tare/internal/usage"
)

// UsageRow is the resource use of one environment in one workload at one level:
// medians over the trials.
type UsageRow struct {
	Environment *Environment
	Level       string
	Cells       []UsageCell
}

// UsageCell is the use of one resource by one environment.
type UsageCell struct {
	Text string
	// Share of the largest value of the column, for a bar; negative for none.
	Share  float64
	Note   int // number of the reason below the table; 0 for none
	value  float64
	reason string
}

// UsageTable is the values of one subject.
type UsageTable struct {
	Title   string
	Columns []string
	Rows    []UsageRow
	Reasons []string // why figures are missing, by their numbers
	Nothing []string // what is 0 in all rows, which has no column
	Absent  []string // what no row has a value of, with the reasons
}

type usageColumn struct {
	name string
	unit string
	bar  bool
	of   func(*usage.Usage) usage.Figure
}

// usageSubjects are the tables, each narrow enough for a page.
var usageSubjects = []struct {
	title   string
	columns []usageColumn
}{
	{"Processor and memory", []usageColumn{
		{"CPU", "s", true, func(u *usage.Usage) usage.Figure {
			if u.CPUTime == nil {
				return usage.Absent(usage.Together)
			}
			return *u.CPUTime
		}},
		{"CPU user", "s", true, func(u *usage.Usage) usage.Figure { return u.CPUUser }},
		{"CPU system", "s", true, func(u *usage.Usage) usage.Figure { return u.CPUSystem }},
		{"throttled", "s", false, func(u *usage.Usage) usage.Figure { return u.CPUThrottled }},
		{"memory peak", "B", true, func(u *usage.Usage) usage.Figure { return u.MemoryPeak }},
		{"memory mean", "B", true, func(u *usage.Usage) usage.Figure { return u.MemoryMean }},
		{"working set", "B", true, func(u *usage.Usage) usage.Figure { return u.Working() }},
		{"page cache mean", "B", false, func(u *usage.Usage) usage.Figure { return u.CacheMean }},
		{"threads peak", "", false, func(u *usage.Usage) usage.Figure { return u.ThreadsPeak }},
	}},
	{"Storage and network", []usageColumn{
		{"read", "B", false, func(u *usage.Usage) usage.Figure { return u.DiskRead }},
		{"written", "B", false, func(u *usage.Usage) usage.Figure { return u.DiskWritten }},
		{"read operations", "", false, func(u *usage.Usage) usage.Figure { return u.DiskReads }},
		{"write operations", "", false, func(u *usage.Usage) usage.Figure { return u.DiskWrites }},
		{"received", "B", false, func(u *usage.Usage) usage.Figure { return u.NetReceived }},
		{"sent", "B", false, func(u *usage.Usage) usage.Figure { return u.NetSent }},
		{"packets received", "", false, func(u *usage.Usage) usage.Figure { return u.PacketsIn }},
		{"packets sent", "", false, func(u *usage.Usage) usage.Figure { return u.PacketsOut }},
	}},
	{"Context switches, page faults and stalls", []usageColumn{
		{"context switches", "", true, func(u *usage.Usage) usage.Figure { return u.Switches }},
		{"minor faults", "", false, func(u *usage.Usage) usage.Figure { return u.MinorFaults }},
		{"major faults", "", false, func(u *usage.Usage) usage.Figure { return u.MajorFaults }},
		{"CPU stall", "s", true, func(u *usage.Usage) usage.Figure { return u.StallCPU }},
		{"I/O stall", "s", false, func(u *usage.Usage) usage.Figure { return u.StallIO }},
		{"memory stall", "s", false, func(u *usage.Usage) usage.Figure { return u.StallMemory }},
	}},
}

// Usage returns the resource use of a workload by subject; nil if no trial has any.
func (v *Report) Usage(w Workload) (tables []UsageTable) {
	for _, subject := range usageSubjects {
		if table := v.usageTable(w, subject.columns); len(table.Rows) > 0 {
			table.Title = subject.title
			tables = append(tables, table)
		}
	}
	return tables
}

// eachUsage visits the usages of a workload's trials, an environment at a level
// at a time.
func (v *Report) eachUsage(w Workload, visit func(e *Environment, level string, trials []*usage.Usage)) {
	for _, l := range w.Levels {
		for i := range v.Environments {
			e := &v.Environments[i]
			if trials := v.usages[l.Place(w).In(e.Name)]; len(trials) > 0 {
				visit(e, l.Name, trials)
			}
		}
	}
}

func (v *Report) usageTable(w Workload, columns []usageColumn) (table UsageTable) {
	var trials [][]*usage.Usage
	v.eachUsage(w, func(e *Environment, level string, of []*usage.Usage) {
		table.Rows = append(table.Rows, UsageRow{Environment: e, Level: level})
		trials = append(trials, of)
	})
	for _, column := range columns {
		cells := make([]UsageCell, len(trials))
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
		case figures == 0 && slices.Equal(reasons, []string{usage.Together}):
			continue
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

// without adds the reason for a missing column; columns that are missing for the
// same reason share a line.
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
func usageOf(trials []*usage.Usage, column usageColumn) (c UsageCell, reason string) {
	c = UsageCell{Share: -1, Text: Missing}
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
	c.value = stats.Median(values)
	if c.Text = Figure(c.value, column.unit); column.unit == "" && c.value < 1000 && c.value == math.Trunc(c.value) {
		c.Text = strconv.Itoa(int(c.value)) // a few of something
	}
	return c, ""
}

func (t *UsageTable) reason(text string) int {
	for i, r := range t.Reasons {
		if r == text {
			return i + 1
		}
	}
	t.Reasons = append(t.Reasons, text)
	return len(t.Reasons)
}
