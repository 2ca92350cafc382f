package model_test

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestACostThatIsZeroEverywhereHasNoColumn(t *testing.T) {
	v := model.New(reporttest.Quick())
	for _, w := range v.Workloads {
		table := v.CostTable(w, w.Levels, true)
		without := w.Name == "syscalls" || w.Name == "nginx"
		if without && (slices.Contains(table.Columns, "written") || !slices.Contains(table.Nothing, "written")) {
			t.Errorf("%s: columns %v, nothing %v", w.Name, table.Columns, table.Nothing)
		}
		if strings.HasPrefix(w.Name, "fio") && !slices.Contains(table.Columns, "written") {
			t.Errorf("%s: columns %v", w.Name, table.Columns)
		}
		for _, r := range table.Rows {
			if len(r.Cells) != len(table.Columns) {
				t.Fatalf("%s: %d cells for %v", w.Name, len(r.Cells), table.Columns)
			}
			for _, c := range r.Cells {
				if c.Note > len(table.Reasons) {
					t.Errorf("%s: no reason %d in %q", w.Name, c.Note, table.Reasons)
				}
			}
		}
	}
}

func TestTheReasonForAMissingRatioIsGivenOnce(t *testing.T) {
	v := model.New(reporttest.Quick())
	w := v.Workloads[slices.IndexFunc(v.Workloads, func(w model.Workload) bool { return w.Name == "fio-randread" })]
	for i := range w.Levels[0].Metrics {
		m := &w.Levels[0].Metrics[i]
		if m.Name != "written_per_kop" {
			continue
		}
		m.Reference = 0
		for k := range m.Cells {
			m.Cells[k].Contrast, m.Cells[k].NoRatio = nil, true
			m.Cells[k].Reason = "0 in native in block 1: there is no ratio"
		}
	}
	table := v.CostTable(w, w.Levels, true)
	told := 0
	for _, r := range table.Reasons {
		if strings.Contains(r, "no ratio") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times: %q", told, table.Reasons)
	}
}
