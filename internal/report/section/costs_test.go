package section

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestACostThatIsZeroEverywhereHasNoColumn(t *testing.T) {
	v := model.New(reporttest.Quick())
	for _, w := range v.Workloads {
		table := costsOf(v, w, true)
		heads := lists.Map(table.Table.Columns, func(c Column) string { return c.Head })
		without := w.Name == "syscalls" || w.Name == "nginx"
		if without && (slices.Contains(heads, "written") || !slices.Contains(table.zero, "written")) {
			t.Errorf("%s: columns %v, zero %v", w.Name, heads, table.zero)
		}
		if strings.HasPrefix(w.Name, "fio") && !slices.Contains(heads, "written") {
			t.Errorf("%s: columns %v", w.Name, heads)
		}
		for _, r := range table.Table.Rows {
			if len(r.Cells) != len(heads) {
				t.Fatalf("%s: %d cells for %v", w.Name, len(r.Cells), heads)
			}
		}
	}
}

func TestTheReasonForAMissingRatioIsGivenOnce(t *testing.T) {
	v := model.New(reporttest.Quick())
	w := v.Workloads[slices.IndexFunc(v.Workloads, func(w model.Workload) bool { return w.Name == "fio-randread" })]
	m := w.Levels[0].Metric("written_per_kop")
	m.Reference = 0
	for k := range m.Cells {
		m.Cells[k].Contrast, m.Cells[k].NoRatio = nil, true
		m.Cells[k].Reason = "0 in native in block 1: there is no ratio"
	}
	table := costsOf(v, w, true)
	if told := lists.Filter(table.Numbered, func(reason string) bool { return strings.Contains(reason, "no ratio") }); len(told) != 1 {
		t.Errorf("told %d times: %q", len(told), table.Numbered)
	}
}
