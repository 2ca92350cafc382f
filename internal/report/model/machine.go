package model

import (
	"slices"

	"tare/internal/usage"
)

// usageOfHost are the columns of the machine during the trials.
var usageOfHost = []usageColumn{
	{"machine busy", "s", true, ofHost(func(h *usage.HostUsage) usage.Figure { return h.CPU })},
	{"this environment", "s", true, ofHost(func(h *usage.HostUsage) usage.Figure { return h.Watched })},
	{"tare", "s", false, ofHost(func(h *usage.HostUsage) usage.Figure { return h.Tare })},
	{"other processes", "s", true, ofHost(func(h *usage.HostUsage) usage.Figure { return h.Others })},
	{"kernel threads", "s", true, ofHost(func(h *usage.HostUsage) usage.Figure { return h.KernelThreads })},
	{"unattributed", "s", true, ofHost(func(h *usage.HostUsage) usage.Figure { return h.Unattributed })},
	{"± error", "s", false, ofHost(func(h *usage.HostUsage) usage.Figure { return h.Error })},
	{"softirq", "s", false, ofHost(func(h *usage.HostUsage) usage.Figure { return h.SoftIRQ })},
	{"steal", "s", false, ofHost(func(h *usage.HostUsage) usage.Figure { return h.Steal })},
}

func ofHost(of func(*usage.HostUsage) usage.Figure) func(*usage.Usage) usage.Figure {
	return func(u *usage.Usage) usage.Figure {
		if u.Host == nil {
			return usage.Absent("the machine's totals were not recorded")
		}
		return of(u.Host)
	}
}

// usageOfSampler are the columns of the overhead of the sampler.
var usageOfSampler = []usageColumn{
	{"passes", "", false, ofSampler(func(e *usage.Effort) float64 { return float64(e.Passes) })},
	{"CPU", "s", false, ofSampler(func(e *usage.Effort) float64 { return e.CPU })},
	{"mean pass", "s", false, ofSampler(func(e *usage.Effort) float64 { return e.PassMean })},
	{"longest pass", "s", false, ofSampler(func(e *usage.Effort) float64 { return e.PassMax })},
	{"late", "", false, ofSampler(func(e *usage.Effort) float64 { return float64(e.Late) })},
}

func ofSampler(of func(*usage.Effort) float64) func(*usage.Usage) usage.Figure {
	return func(u *usage.Usage) usage.Figure {
		if u.Sampler == nil {
			return usage.Absent("the overhead of the sampler was not recorded")
		}
		return usage.Known(of(u.Sampler))
	}
}

// Machine is the use of the machine during the trials and the overhead of the
// sampler; nil if no trial recorded it.
func (v *Report) Machine(w Workload) (tables []UsageTable) {
	told := false
	v.eachUsage(w, func(_ *Environment, _ string, trials []*usage.Usage) {
		told = told || slices.ContainsFunc(trials, func(u *usage.Usage) bool { return u.Sampler != nil })
	})
	if !told {
		return nil
	}
	machine, sampler := v.usageTable(w, usageOfHost), v.usageTable(w, usageOfSampler)
	machine.Title, sampler.Title = "The machine during the trials", "Overhead of the sampler"
	return []UsageTable{machine, sampler}
}
