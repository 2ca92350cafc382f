package html

import (
	"slices"

	"tare/internal/report/model"
)

// matrixRow is one row of the verdict matrix; cells that span rows are in the first.
type matrixRow struct {
	model.Metric
	Workload     model.Workload
	Level        string
	Blocks       string // anchor of its blocks
	NewWorkload  bool
	NewLevel     bool
	WorkloadRows int
	LevelRows    int
}

// Matrix is the primary metrics of every workload at every level.
func (p *page) Matrix() []matrixRow {
	var rows []matrixRow
	for _, w := range p.Workloads {
		first := len(rows)
		for _, l := range w.Levels {
			begin := len(rows)
			for _, m := range l.Metrics {
				if m.Primary {
					rows = append(rows, matrixRow{Metric: m, Workload: w, Level: l.Name, Blocks: model.LevelAnchor(w, l)})
				}
			}
			if begin < len(rows) {
				rows[begin].NewLevel, rows[begin].LevelRows = true, len(rows)-begin
			}
		}
		if first < len(rows) {
			rows[first].NewWorkload, rows[first].WorkloadRows = true, len(rows)-first
		}
	}
	return rows
}

// Swept reports whether any workload has levels, and the matrix a column of them.
func (p *page) Swept() bool {
	return slices.ContainsFunc(p.Workloads, model.Workload.Swept)
}

// Counted explains the number of blocks beside a figure.
func (p *page) Counted() string {
	return "n: blocks with a value on both sides; of ~N: that a verdict is likely to take; at N: after which it was reached"
}
