package report

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/cost"
	"tare/internal/sample"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

func TestACostThatIsNothingAnywhereHasNoColumn(t *testing.T) {
	v := newView(fixture())
	for _, w := range v.Workloads {
		table := v.costs(w, w.Levels, true)
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

func TestThatThereIsNoRatioIsSaidOnce(t *testing.T) {
	v := newView(fixture())
	w := v.Workloads[slices.IndexFunc(v.Workloads, func(w workloadView) bool { return w.Name == "fio-randread" })]
	for i := range w.Levels[0].Metrics {
		m := &w.Levels[0].Metrics[i]
		if m.Name != "written_per_kop" {
			continue
		}
		m.Reference = 0
		for k := range m.Cells {
			m.Cells[k].Contrast, m.Cells[k].NoRatio = nil, true
			m.Cells[k].Reason = "0 in native in block 1: there is no ratio to make"
		}
	}
	table := v.costs(w, w.Levels, true)
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

func TestResourceUseHasColumnsOnlyOfWhatSaysSomething(t *testing.T) {
	in := fixture()
	for i := range in.Trials {
		if u := in.Trials[i].Usage; u != nil {
			u.MajorFaults, u.StallIO = sample.Known(0), sample.Absent("the kernel counts no waiting")
			u.StallMemory = u.StallIO
		}
	}
	p := &page{view: newView(in)}
	for _, table := range p.Usage(p.Workloads[0]) {
		if table.Title != "Switches, faults and waiting" {
			continue
		}
		if !slices.Contains(table.Columns, "context switches") || slices.Contains(table.Columns, "major faults") || slices.Contains(table.Columns, "waited for storage") {
			t.Errorf("columns %v", table.Columns)
		}
		if !slices.Contains(table.Nothing, "major faults") || !slices.Contains(table.Absent, "waited for storage, waited for memory: the kernel counts no waiting") {
			t.Errorf("0 everywhere %v, no figure %q", table.Nothing, table.Absent)
		}
		for _, r := range table.Rows {
			if len(r.Cells) != len(table.Columns) {
				t.Errorf("%d cells for %v", len(r.Cells), table.Columns)
			}
		}
	}
}

func TestEnvironmentsWithTheSamePathsStandTogether(t *testing.T) {
	in := fixture()
	for i := range in.Trials {
		if in.Trials[i].Paths != nil && in.Trials[i].Environment != "vm" {
			in.Trials[i].Paths = fakePaths("native")
		}
	}
	ways := newView(in).Ways()
	if len(ways) != 2 || ways[0].names() != "native; docker; gvisor" || ways[1].names() != "vm [tcg]" {
		t.Errorf("%+v", ways)
	}
}

func TestOptionsAreWordsAndTheUsualOnesAreLeftOut(t *testing.T) {
	page := htmlOf(t, fixture())
	if !strings.Contains(page, "platform=systrap") || strings.Contains(page, `{&#34;platform`) {
		t.Error("options are not words")
	}
}

func TestMoneyIsForAsManyOperationsAsMakeAnAmountThatPeoplePayInEveryFormat(t *testing.T) {
	in := fixture()
	plan := *in.Plan
	plan.Price = &cost.Price{Currency: "EUR", CPUHour: .03}
	plan.Workloads = slices.Clone(plan.Workloads)
	w := &plan.Workloads[slices.IndexFunc(plan.Workloads, func(w study.Workload) bool { return w.Name == "nginx" })]
	w.Pack.Metrics = append(slices.Clone(w.Pack.Metrics), workload.Metric{Name: "money_per_kop", Unit: "EUR/kop", Better: "lower"})
	in.Plan, in.Trials = &plan, slices.Clone(in.Trials)
	for i := range in.Trials {
		if t := &in.Trials[i]; t.Workload == "nginx" && t.Metrics != nil {
			t.Metrics = maps.Clone(t.Metrics)
			t.Metrics["money_per_kop"] = 2.67e-7
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest.Environments)
	var document, text, all bytes.Buffer
	for _, err := range []error{Markdown(&document, in), Terminal(&text, in, TerminalOptions{Width: 100}), Terminal(&all, in, TerminalOptions{Width: 100, All: true})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for where, text := range map[string]string{"page": htmlOf(t, in), "document": document.String(), "tables": text.String(), "all tables": all.String()} {
		if want := "0.267 EUR per billion"; !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), want) {
			t.Errorf("the %s do not say %s", where, want)
		}
		if strings.Contains(text, "e-07 ") {
			t.Errorf("the %s count in powers of ten", where)
		}
	}
}
