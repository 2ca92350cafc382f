package section

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/subject"
	"tare/internal/usage"
)

// used is a column of the resource use; with bars, its values are compared with the largest.
type used struct {
	name, unit string
	bar        bool
	of         func(*usage.Usage) usage.Figure
	// given reports whether the source has the figure at all: without one that has, there is
	// no column; nil is always.
	given func(*usage.Usage) bool
}

type useTable struct {
	title   string
	columns []used
}

// uses are the tables of a workload's environments, each narrow enough for a page.
var uses = []useTable{
	{"Processor and memory", []used{
		{name: "CPU", unit: "s", bar: true, given: func(u *usage.Usage) bool { return u.CPUTime != nil }, of: func(u *usage.Usage) usage.Figure {
			if u.CPUTime == nil {
				return usage.Absent(usage.Together)
			}
			return *u.CPUTime
		}},
		{name: "CPU user", unit: "s", bar: true, of: func(u *usage.Usage) usage.Figure { return u.CPUUser }},
		{name: "CPU system", unit: "s", bar: true, of: func(u *usage.Usage) usage.Figure { return u.CPUSystem }},
		{name: "throttled", unit: "s", of: func(u *usage.Usage) usage.Figure { return u.CPUThrottled }},
		{name: "memory peak", unit: "B", bar: true, of: func(u *usage.Usage) usage.Figure { return u.MemoryPeak }},
		{name: "memory mean", unit: "B", bar: true, of: func(u *usage.Usage) usage.Figure { return u.MemoryMean }},
		{name: "working set", unit: "B", bar: true, of: func(u *usage.Usage) usage.Figure { return u.Working() }},
		{name: "page cache mean", unit: "B", of: func(u *usage.Usage) usage.Figure { return u.CacheMean }},
		{name: "threads peak", of: func(u *usage.Usage) usage.Figure { return u.ThreadsPeak }},
	}},
	{"Storage and network", []used{
		{name: "read", unit: "B", of: func(u *usage.Usage) usage.Figure { return u.DiskRead }},
		{name: "written", unit: "B", of: func(u *usage.Usage) usage.Figure { return u.DiskWritten }},
		{name: "read operations", of: func(u *usage.Usage) usage.Figure { return u.DiskReads }},
		{name: "write operations", of: func(u *usage.Usage) usage.Figure { return u.DiskWrites }},
		{name: "received", unit: "B", of: func(u *usage.Usage) usage.Figure { return u.NetReceived }},
		{name: "sent", unit: "B", of: func(u *usage.Usage) usage.Figure { return u.NetSent }},
		{name: "packets received", of: func(u *usage.Usage) usage.Figure { return u.PacketsIn }},
		{name: "packets sent", of: func(u *usage.Usage) usage.Figure { return u.PacketsOut }},
	}},
	{"Context switches, page faults and stalls", []used{
		{name: "context switches", bar: true, of: func(u *usage.Usage) usage.Figure { return u.Switches }},
		{name: "minor faults", of: func(u *usage.Usage) usage.Figure { return u.MinorFaults }},
		{name: "major faults", of: func(u *usage.Usage) usage.Figure { return u.MajorFaults }},
		{name: "CPU stall", unit: "s", bar: true, of: func(u *usage.Usage) usage.Figure { return u.StallCPU }},
		{name: "I/O stall", unit: "s", of: func(u *usage.Usage) usage.Figure { return u.StallIO }},
		{name: "memory stall", unit: "s", of: func(u *usage.Usage) usage.Figure { return u.StallMemory }},
	}},
}

// ofMachine are the tables of the machine during the trials.
var ofMachine = []useTable{
	{"The machine during the trials", []used{
		{name: "machine busy", unit: "s", bar: true, of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.CPU })},
		{name: "this environment", unit: "s", bar: true, of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.Watched })},
		{name: "tare", unit: "s", of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.Tare })},
		{name: "other processes", unit: "s", bar: true, of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.Others })},
		{name: "kernel threads", unit: "s", bar: true, of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.KernelThreads })},
		{name: "unattributed", unit: "s", bar: true, of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.Unattributed })},
		{name: "± error", unit: "s", of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.Error })},
		{name: "softirq", unit: "s", of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.SoftIRQ })},
		{name: "steal", unit: "s", of: ofHost(func(h *usage.HostUsage) usage.Figure { return h.Steal })},
	}},
	{"Overhead of the sampler", []used{
		{name: "passes", of: effort(func(e *usage.Effort) float64 { return float64(e.Passes) })},
		{name: "CPU", unit: "s", of: effort(func(e *usage.Effort) float64 { return e.CPU })},
		{name: "mean pass", unit: "s", of: effort(func(e *usage.Effort) float64 { return e.PassMean })},
		{name: "longest pass", unit: "s", of: effort(func(e *usage.Effort) float64 { return e.PassMax })},
		{name: "late", of: effort(func(e *usage.Effort) float64 { return float64(e.Late) })},
	}},
}

func ofHost(of func(*usage.HostUsage) usage.Figure) func(*usage.Usage) usage.Figure {
	return func(u *usage.Usage) usage.Figure {
		if u.Host == nil {
			return usage.Absent("the machine's totals were not recorded")
		}
		return of(u.Host)
	}
}

func effort(of func(*usage.Effort) float64) func(*usage.Usage) usage.Figure {
	return func(u *usage.Usage) usage.Figure {
		if u.Sampler == nil {
			return usage.Absent("the overhead of the sampler was not recorded")
		}
		return usage.Known(of(u.Sampler))
	}
}

// Usages are the resource use of a workload: medians over the trials. Only a page has them,
// with the workload.
func Usages(v *model.Report, w model.Workload) []Part { return usesOf(v, w, uses) }

// Machine is the use of the machine during the trials of a workload, and the overhead of the
// sampler; nil if no trial recorded it.
func Machine(v *model.Report, w model.Workload) []Part {
	for at, trials := range v.Usages {
		if at.Workload == w.Name && slices.ContainsFunc(trials, func(u *usage.Usage) bool { return u.Sampler != nil }) {
			return usesOf(v, w, ofMachine)
		}
	}
	return nil
}

func usesOf(v *model.Report, w model.Workload, tables []useTable) (parts []Part) {
	for _, u := range tables {
		if p := usageOf(v, w, u); len(p.Table.Rows) > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

func usageOf(v *model.Report, w model.Workload, of useTable) Part {
	cell := func(at measured) subject.Cell { return at.Place(w).In(at.Environment.Name) }
	t := measuresOf(v, w, of.title+" of "+w.Name, func(at measured) bool { return len(v.Usages[cell(at)]) > 0 })
	for _, column := range of.columns {
		if column.given != nil && !slices.ContainsFunc(t.rows, func(at measured) bool { return slices.ContainsFunc(v.Usages[cell(at)], column.given) }) {
			continue
		}
		figures := lists.Map(t.rows, func(at measured) usage.Figure { return v.Use(cell(at), column.of) })
		var reasons []string
		known, largest := false, 0.
		for _, f := range figures {
			if f.Missing == "" {
				known, largest = true, math.Max(largest, math.Abs(f.Value))
			} else if !slices.Contains(reasons, f.Missing) {
				reasons = append(reasons, f.Missing)
			}
		}
		if !known {
			t.without(column.name, strings.Join(reasons, "; "))
			continue
		}
		t.column(column.name, lists.Map(figures, func(f usage.Figure) measure { return column.cell(f, largest) }))
	}
	t.Title, t.Sub = of.title, true
	lines := lists.Map(t.absent, func(a absent) string { return "No value for " + a.String() + "." })
	if t.zero != nil {
		lines = slices.Insert(lines, 0, "0 in all environments: "+strings.Join(t.zero, ", ")+".")
	}
	t.Last = strings.Join(lines, " ")
	return t.Part
}

// cell is a figure of the column, with a bar if it has them.
func (c *used) cell(f usage.Figure, largest float64) measure {
	if f.Missing != "" {
		return measure{math.NaN(), plain(model.Missing), f.Missing}
	}
	text := model.Figure(f.Value, c.unit)
	if c.unit == "" && f.Value < 1000 && f.Value == math.Trunc(f.Value) {
		text = strconv.Itoa(int(f.Value)) // a few of something
	}
	shown := plain(text)
	if c.bar && largest > 0 && f.Value >= 0 {
		share := math.Round(1000*f.Value/largest) / 10
		shown = append(shown, Text{Text: strconv.FormatFloat(share, 'f', -1, 64) + "%", Style: Amount})
	}
	return measure{f.Value, shown, ""}
}
