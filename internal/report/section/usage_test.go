package section

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
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
	v := model.New(in)
	parts := Usages(v, v.Workloads[0])
	p := parts[slices.IndexFunc(parts, func(p Part) bool { return p.Title == "Context switches, page faults and stalls" })]
	heads := lists.Map(p.Table.Columns, func(c Column) string { return c.Head })
	if !slices.Contains(heads, "context switches") || slices.Contains(heads, "major faults") || slices.Contains(heads, "I/O stall") {
		t.Errorf("columns %v", heads)
	}
	if !strings.Contains(p.Last, "0 in all environments: ") || !strings.Contains(p.Last, "major faults") || !strings.Contains(p.Last, "No value for I/O stall, memory stall: the kernel counts no stalls.") {
		t.Errorf("what has no column: %s", p.Last)
	}
	for _, r := range p.Table.Rows {
		if len(r.Cells) != len(heads) {
			t.Errorf("%d cells for %v", len(r.Cells), heads)
		}
	}
}
