package model

import (
	"slices"

	"tare/internal/sample"
)

// usageOfHost are the columns of the machine during the trials.
var usageOfHost = []usageColumn{
	{"machine busy", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.CPU })},
	{"this environment", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Watched })},
	{"tare", "s", false, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Tare })},
	{"other processes", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Others })},
	{"kernel threads", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.KernelThreads })},
	{"unattributed", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Unattributed })},
	{"± error", "s", false, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Error })},
	{"softirq", "s", false, ofHost(func(h *sample.HostUsage) sample.Figure { return h.SoftIRQ })},
	{"steal", "s", false, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Steal })},
}

func ofHost(of func(*sample.HostUsage) sample.Figure) func(*sample.Usage) sample.Figure {
	return func(u *sample.Usage) sample.Figure {
		if u.Host == nil {
			return sample.Absent("the machine's totals were not recorded")
		}
		return of(u.Host)
	}
}

// usageOfSampler are the columns of the overhead of the sampler.
var usageOfSampler = []usageColumn{
	{"passes", "", false, ofSampler(func(e *sample.Effort) float64 { return float64(e.Passes) })},
	{"CPU", "s", false, ofSampler(func(e *sample.Effort) float64 { return e.CPU })},
	{"mean pass", "s", false, ofSampler(func(e *sample.Effort) float64 { return e.PassMean })},
	{"longest pass", "s", false, ofSampler(func(e *sample.Effort) float64 { return e.PassMax })},
	{"late", "", false, ofSampler(func(e *sample.Effort) float64 { return float64(e.Late) })},
}

func ofSampler(of func(*sample.Effort) float64) func(*sample.Usage) sample.Figure {
	return func(u *sample.Usage) sample.Figure {
		if u.Sampler == nil {
			return sample.Absent("the overhead of the sampler was not recorded")
		}
		return sample.Known(of(u.Sampler))
	}
}

// Machine is the use of the machine during the trials and the overhead of the
// sampler; nil if no trial recorded it.
func (v *Report) Machine(w Workload) (tables []UsageTable) {
	told := false
	v.eachUsage(w, func(_ *Environment, _ string, trials []*sample.Usage) {
		told = told || slices.ContainsFunc(trials, func(u *sample.Usage) bool { return u.Sampler != nil })
	})
	if !told {
		return nil
	}
	machine, sampler := v.usageTable(w, usageOfHost), v.usageTable(w, usageOfSampler)
	machine.Title, sampler.Title = "The machine during the trials", "Overhead of the sampler"
	return []UsageTable{machine, sampler}
}
