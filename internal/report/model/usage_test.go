package model_test

import (
	"slices"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
	"tare/internal/usage"
)

func TestResourceUseHasColumnsOnlyOfWhatSaysSomething(t *testing.T) {
	in := reporttest.Quick()
	for i := range in.Trials {
		if u := in.Trials[i].Usage; u != nil {
			u.MajorFaults, u.StallIO = usage.Known(0), usage.Absent("the kernel counts no stalls")
			u.StallMemory = u.StallIO
		}
	}
	p := model.New(in)
	for _, table := range p.Usage(p.Workloads[0]) {
		if table.Title != "Context switches, page faults and stalls" {
			continue
		}
		if !slices.Contains(table.Columns, "context switches") || slices.Contains(table.Columns, "major faults") || slices.Contains(table.Columns, "I/O stall") {
			t.Errorf("columns %v", table.Columns)
		}
		if !slices.Contains(table.Nothing, "major faults") || !slices.Contains(table.Absent, "I/O stall, memory stall: the kernel counts no stalls") {
			t.Errorf("0 everywhere %v, no figure %q", table.Nothing, table.Absent)
		}
		for _, r := range table.Rows {
			if len(r.Cells) != len(table.Columns) {
				t.Errorf("%d cells for %v", len(r.Cells), table.Columns)
			}
		}
	}
}
