package usage

import (
	"cmp"
	"fmt"
	"slices"
)

// Part is a share of an environment's usage: that of the processes with one role
// and name.
type Part struct {
	Role string `json:"role"` // workload, vmm, sandbox, gofer, shim, proxy, logger
	// Name is the kernel's name of the process; "" for processes that exited
	// before they were read, and for what cannot be divided.
	Name string `json:"name,omitempty"`
	// Thread is the name of threads whose name differs from that of the process;
	// "" for the other threads.
	Thread    string  `json:"thread,omitempty"`
	Processes int     `json:"processes,omitempty"` // at the end
	CPU       float64 `json:"cpu_s"`
	Memory    float64 `json:"memory_b,omitempty"` // at the end, without the page cache
	Share     float64 `json:"share"`              // of the environment's CPU time
}

// Effort is the overhead of the sampling, and how regular it was.
type Effort struct {
	Passes   int     `json:"passes"`
	CPU      float64 `json:"cpu_s"`
	PassMean float64 `json:"pass_mean_s"`
	PassMax  float64 `json:"pass_max_s"`
	Late     int     `json:"late"` // passes that began more than half an interval late
}

// plus adds the effort of another sampling.
func (e Effort) plus(o Effort) Effort {
	if passes := e.Passes + o.Passes; passes > 0 {
		e.PassMean = (e.PassMean*float64(e.Passes) + o.PassMean*float64(o.Passes)) / float64(passes)
	}
	e.Passes, e.CPU, e.PassMax, e.Late = e.Passes+o.Passes, e.CPU+o.CPU, max(e.PassMax, o.PassMax), e.Late+o.Late
	return e
}

// usage computes the usage from the readings.
func (s *Sampler) usage() Usage {
	r, u, o := &s.record.last, Usage{}, s.sampling.options
	u.CPUUser, u.CPUSystem, u.CPUThrottled = r.CPUUser, r.CPUSystem, r.CPUThrottled
	u.MemoryPeak, u.MemoryMean, u.MemorySeconds = s.record.curves[0].figures()
	u.CachePeak, u.CacheMean, u.CacheSeconds = s.record.curves[1].figures()
	u.ThreadsPeak, u.ThreadsMean, _ = s.record.curves[2].figures()
	u.ProcessesPeak, u.ProcessesMean, _ = s.record.curves[3].figures()
	u.DiskRead, u.DiskWritten, u.DiskReads, u.DiskWrites = r.DiskRead, r.DiskWritten, r.DiskReads, r.DiskWrites
	u.NetReceived, u.NetSent, u.PacketsIn, u.PacketsOut = r.NetReceived, r.NetSent, r.PacketsIn, r.PacketsOut
	u.Switches, u.MinorFaults, u.MajorFaults = r.Switches, r.MinorFaults, r.MajorFaults
	u.StallCPU, u.StallIO, u.StallMemory = r.StallCPU, r.StallIO, r.StallMemory
	if s.problem != "" {
		return u
	}
	u.Parts = s.parts(u.CPU())
	if n := s.outside.orphans; n > 0 {
		u.Notes = append(u.Notes, fmt.Sprintf("%d of the environment's processes exited without a parent that inherited their counters: their usage after the last reading is missing", n))
	}
	if n := s.inside.orphans; n > 0 && s.sampling.on.groups.Mode() != "v2" {
		u.Notes = append(u.Notes, fmt.Sprintf("%d processes in the instance exited without a parent that inherited their counters: their disk bytes after the last reading are missing", n))
	}
	if n := s.inside.exited + s.outside.exited; n > 0 {
		u.Notes = append(u.Notes, fmt.Sprintf("%d processes exited: their context switches after the last reading are missing, and all of those that lived between two readings", n))
	}
	switch {
	case o.AtEdges:
		u.Notes = append(u.Notes, "read only at the beginning and at the end of each sample: peaks and means are those of these readings, and the division by process has the time between the samples as well")
	case o.Every < 0 && !o.sinceCreation:
		u.Notes = append(u.Notes, "read only when the driver started and when it ended: peaks and means are those of the two readings")
	}
	return u
}

// parts divides the CPU time among processes and threads.
func (s *Sampler) parts(whole Figure) []Part {
	sums := map[label]*Part{}
	add := func(of label, processes int, cpu, memory float64) {
		p := sums[of]
		if p == nil {
			p = &Part{Role: of.role, Name: of.name, Thread: of.thread}
			sums[of] = p
		}
		p.Processes, p.CPU, p.Memory = p.Processes+processes, p.CPU+cpu, p.Memory+memory
	}
	seen := 0.
	for _, c := range []*processSet{&s.inside, &s.outside} {
		for _, p := range c.processes {
			of, used := c.label(p), p.used()
			cpu := used[cpuUser] + used[cpuSystem]
			seen += cpu
			s.reader.readTasks(p, func(tid int, comm string, now float64) {
				if ran := min(now-p.tasks[tid], cpu); ran > 0 {
					add(label{of.role, of.name, comm}, 0, ran, 0)
					cpu -= ran
				}
			})
			add(of, 1, cpu, p.memory)
		}
		for of, used := range c.departed {
			add(of, 0, used[cpuUser]+used[cpuSystem], 0)
			seen += used[cpuUser] + used[cpuSystem]
		}
	}
	// The group's counter is exact and has all processes; /proc has those that were
	// read, in ticks.
	if rest := whole.Value - seen; whole.Missing == "" && len(s.groups) > 0 && rest > 1./ticks {
		add(label{s.footprint.roleInside(""), "", ""}, 0, rest, 0)
	}
	return shares(sums)
}

func shares[K comparable](sums map[K]*Part) []Part {
	total, list := 0., []Part{}
	for _, p := range sums {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Thread, b.Thread))
	})
	for _, p := range list { // in order: the last bits of a sum depend on it
		total += p.CPU
	}
	for i := range list {
		if total > 0 {
			list[i].Share = list[i].CPU / total
		}
	}
	return list
}

// mergeParts adds up the parts of several instances.
func mergeParts(all ...[]Part) []Part {
	sums := map[label]*Part{}
	for _, list := range all {
		for _, p := range list {
			k := label{p.Role, p.Name, p.Thread}
			if sums[k] == nil {
				sums[k] = &Part{Role: p.Role, Name: p.Name, Thread: p.Thread}
			}
			sum := sums[k]
			sum.Processes, sum.CPU, sum.Memory = sum.Processes+p.Processes, sum.CPU+p.CPU, sum.Memory+p.Memory
		}
	}
	if len(sums) == 0 {
		return nil
	}
	return shares(sums)
}
