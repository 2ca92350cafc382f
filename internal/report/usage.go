package report

import (
	"math"

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

type usageTable struct {
	Rows    []usageRow
	Reasons []string
}

var usageColumns = []struct {
	of   func(*sample.Usage) sample.Figure
	unit string
	bar  bool
}{
	{func(u *sample.Usage) sample.Figure { return u.CPUUser }, "s", true},
	{func(u *sample.Usage) sample.Figure { return u.CPUSystem }, "s", true},
	{func(u *sample.Usage) sample.Figure { return u.MemoryPeak }, "B", true},
	{func(u *sample.Usage) sample.Figure { return u.MemoryMean }, "B", true},
	{func(u *sample.Usage) sample.Figure { return u.DiskRead }, "B", false},
	{func(u *sample.Usage) sample.Figure { return u.DiskWritten }, "B", false},
	{func(u *sample.Usage) sample.Figure { return u.NetReceived }, "B", false},
	{func(u *sample.Usage) sample.Figure { return u.NetSent }, "B", false},
}

// Usage of a workload, with a number for each reason why a figure is missing.
func (p *page) Usage(w workloadView) usageTable {
	var table usageTable
	largest := make([]float64, len(usageColumns))
	for _, l := range w.Levels {
		for i := range p.Environments {
			e := &p.Environments[i]
			row := usageRow{Environment: e, Level: l.Name}
			trials := p.usages[where{workload: w.Name, level: l.Name, environment: e.Name}]
			if len(trials) == 0 {
				continue
			}
			for k, column := range usageColumns {
				c := usageCell{Share: -1, Text: missing}
				var values []float64
				reasons := map[string]int{}
				for _, u := range trials {
					if f := column.of(u); f.Missing == "" {
						values = append(values, f.Value)
					} else {
						reasons[f.Missing]++
					}
				}
				if len(values) > 0 {
					c.value = median(values)
					c.Text = figure(c.value, column.unit)
					if column.bar {
						c.Share = 0
						largest[k] = math.Max(largest[k], c.value)
					}
				} else {
					c.Note = table.reason(mostFrequent(reasons))
				}
				row.Cells = append(row.Cells, c)
			}
			table.Rows = append(table.Rows, row)
		}
	}
	for _, row := range table.Rows {
		for k := range row.Cells {
			if c := &row.Cells[k]; c.Share == 0 && largest[k] > 0 {
				c.Share = math.Round(1000*c.value/largest[k]) / 10
			}
		}
	}
	return table
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
