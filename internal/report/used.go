package report

import (
	"cmp"
	"slices"

	"tare/internal/sample"
)

// partRow is one of those who used what an environment used: medians over the
// trials.
type partRow struct {
	Environment *environmentView
	Level       string
	Role, Name  string
	Processes   int
	CPU         float64
	Memory      string
	Share       float64 // of the environment's processor time, in percent
}

// smallPart is the share below which a part without a process at the end is not
// shown by itself.
const smallPart = 0.01

// Parts say who used the processor time of a workload's environments.
func (p *page) Parts(w workloadView) (rows []partRow) {
	p.eachUsage(w, func(e *environmentView, level string, trials []*sample.Usage) {
		type label struct{ role, name string }
		cpu, memory, processes := map[label][]float64{}, map[label][]float64{}, map[label][]float64{}
		told := 0
		for _, u := range trials {
			if len(u.Parts) > 0 {
				told++
			}
			for _, part := range u.Parts {
				of := label{part.Role, partName(part)}
				cpu[of] = append(cpu[of], part.CPU)
				memory[of] = append(memory[of], part.Memory)
				processes[of] = append(processes[of], float64(part.Processes))
			}
		}
		var list []partRow
		whole := 0.
		for of, seen := range cpu {
			for len(seen) < told { // in the other trials there was none
				seen = append(seen, 0)
			}
			row := partRow{Environment: e, Level: level, Role: of.role, Name: of.name, CPU: median(seen), Processes: int(median(processes[of]))}
			if held := median(memory[of]); held > 0 {
				row.Memory = figure(held, "B")
			}
			whole += row.CPU
			list = append(list, row)
		}
		slices.SortFunc(list, func(a, b partRow) int { // the map's order is nobody's
			return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name))
		})
		for _, row := range list {
			if whole > 0 {
				row.Share = 100 * row.CPU / whole
			}
			if row.Processes > 0 || row.Share >= 100*smallPart {
				rows = append(rows, row)
			}
		}
	})
	return rows
}

func partName(p sample.Part) string {
	switch {
	case p.Name == "":
		return "ended unseen, or not divided"
	case p.Thread != "":
		return p.Name + ", thread " + p.Thread
	}
	return p.Name
}

// usageOfHost are the columns of what the machine did meanwhile.
var usageOfHost = []usageColumn{
	{"machine busy", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.CPU })},
	{"this environment", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Watched })},
	{"tare", "s", false, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Tare })},
	{"other processes", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Others })},
	{"kernel threads", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.KernelThreads })},
	{"in no thread", "s", true, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Unattributed })},
	{"give or take", "s", false, ofHost(func(h *sample.HostUsage) sample.Figure { return h.Error })},
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

// usageOfSampler are the columns of what the watching itself cost.
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
			return sample.Absent("what the sampler cost was not recorded")
		}
		return sample.Known(of(u.Sampler))
	}
}

// Machine is what the machine did meanwhile, and the sampler; none where no
// trial says so.
func (p *page) Machine(w workloadView) (tables []usageTable) {
	told := false
	p.eachUsage(w, func(_ *environmentView, _ string, trials []*sample.Usage) {
		told = told || slices.ContainsFunc(trials, func(u *sample.Usage) bool { return u.Sampler != nil })
	})
	if !told {
		return nil
	}
	machine, sampler := p.usageTable(w, usageOfHost), p.usageTable(w, usageOfSampler)
	machine.Title, sampler.Title = "The machine meanwhile", "What the sampler itself cost"
	return []usageTable{machine, sampler}
}
