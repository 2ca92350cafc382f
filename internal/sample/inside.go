package sample

import (
	"encoding/json"
	"strconv"
	"strings"

	"tare/internal/linux/procfile"
)

// Inside is what the kernel of an instance itself counted while the driver ran,
// where it has one of its own: a guest's, or a sandbox's. It is no part of what
// is seen from outside, but says how that was spent.
type Inside struct {
	// Missing is why there is nothing: the instance shares the kernel that is
	// seen from outside anyway.
	Missing string `json:"missing,omitempty"`

	CPUUser     Figure `json:"cpu_user_s,omitzero"`
	CPUSystem   Figure `json:"cpu_system_s,omitzero"`
	IRQ         Figure `json:"irq_s,omitzero"`
	SoftIRQ     Figure `json:"softirq_s,omitzero"`
	Steal       Figure `json:"steal_s,omitzero"` // wanted by the guest and not given
	Switches    Figure `json:"switches,omitzero"`
	Interrupts  Figure `json:"interrupts,omitzero"`
	Forks       Figure `json:"forks,omitzero"`
	MinorFaults Figure `json:"minor_faults,omitzero"`
	MajorFaults Figure `json:"major_faults,omitzero"`
	MemoryTotal Figure `json:"memory_total_b,omitzero"`
	MemoryUsed  Figure `json:"memory_used_b,omitzero"` // at the end: what could not be given to others
	Cache       Figure `json:"cache_b,omitzero"`       // at the end
	Load        Figure `json:"load,omitzero"`          // at the end: the mean of the last minute
}

func (i *Inside) figures() []*Figure {
	return []*Figure{&i.CPUUser, &i.CPUSystem, &i.IRQ, &i.SoftIRQ, &i.Steal, &i.Switches, &i.Interrupts, &i.Forks,
		&i.MinorFaults, &i.MajorFaults, &i.MemoryTotal, &i.MemoryUsed, &i.Cache, &i.Load}
}

// The files that say it, and the one by which kernels are told apart.
const (
	insideStat = "/proc/stat"
	insideMem  = "/proc/meminfo"
	insideVM   = "/proc/vmstat"
	insideLoad = "/proc/loadavg"
)

// InsideFiles are what has to be read in the instance, before and after.
var InsideFiles = []string{insideStat, insideMem, insideVM, insideLoad}

// NotInside is nothing, for a reason.
func NotInside(why string) *Inside {
	i := &Inside{Missing: why}
	for _, f := range i.figures() {
		f.Missing = unrecorded
	}
	return i
}

// UnmarshalJSON reads what was written; the rest is not known.
func (i *Inside) UnmarshalJSON(data []byte) error {
	type plain Inside
	read := *NotInside("")
	if err := json.Unmarshal(data, (*plain)(&read)); err != nil {
		return err
	}
	*i = read
	return nil
}

// InsideOf compares what the files said before and after; a file that could not
// be read is not among them.
func InsideOf(before, after map[string]string) *Inside {
	i := &Inside{}
	for _, f := range i.figures() {
		*f = Absent("the kernel inside does not tell")
	}
	a, b := statOf(before[insideStat]), statOf(after[insideStat])
	for k, f := range []*Figure{&i.CPUUser, &i.CPUSystem, &i.IRQ, &i.SoftIRQ, &i.Steal} {
		// A kernel that has seen no time at all, not even idle, counts none.
		if b.time > 0 {
			*f = Known(max(b.cpu[k]-a.cpu[k], 0))
		} else {
			*f = Absent("the kernel inside counts no processor time")
		}
	}
	for name, f := range map[string]*Figure{"ctxt": &i.Switches, "intr": &i.Interrupts, "processes": &i.Forks} {
		if n, told := b.lines[name]; told && n > 0 {
			*f = Known(max(n-a.lines[name], 0))
		}
	}
	vmBefore, vm := pairsOf(before[insideVM]), pairsOf(after[insideVM])
	if faults, told := vm["pgfault"]; told {
		major := vm["pgmajfault"] - vmBefore["pgmajfault"]
		i.MinorFaults, i.MajorFaults = Known(max(faults-vmBefore["pgfault"]-major, 0)), Known(max(major, 0))
	}
	memory := pairsOf(after[insideMem])
	if total := memory["MemTotal"]; total > 0 {
		i.MemoryTotal = Known(total * 1024)
		if available, told := memory["MemAvailable"]; told {
			i.MemoryUsed = Known(max(total-available, 0) * 1024)
		}
		if cached, told := memory["Cached"]; told {
			i.Cache = Known(max(cached+memory["Buffers"]-memory["Shmem"], 0) * 1024)
		}
	}
	if load, told := number(after[insideLoad]); told && b.time > 0 {
		i.Load = Known(load)
	}
	return i
}

// insideStats are the lines of /proc/stat that are used.
type insideStats struct {
	cpu   [5]float64 // user, system, irq, softirq, steal
	time  float64    // all, with idle
	lines map[string]float64
}

func statOf(text string) insideStats {
	s := insideStats{lines: map[string]float64{}}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if fields[0] != "cpu" {
			if n, ok := number(fields[1]); ok {
				s.lines[fields[0]] = n
			}
			continue
		}
		var column [8]float64
		for i := range min(len(column), len(fields)-1) {
			column[i], _ = number(fields[i+1])
			column[i] /= ticks
			s.time += column[i]
		}
		s.cpu = [5]float64{column[0] + column[1], column[2], column[5], column[6], column[7]}
	}
	return s
}

func pairsOf(text string) map[string]float64 {
	table := map[string]float64{}
	for key, value := range procfile.Pairs([]byte(text)) {
		table[string(key)] = float64(value)
	}
	return table
}

// plus adds what was counted in another instance.
func (i *Inside) plus(o *Inside) *Inside {
	switch {
	case i == nil || o != nil && i.Missing != "" && o.Missing == "":
		return o
	case o == nil || o.Missing != "":
		return i
	}
	sum := *i
	add := o.figures()
	for n, f := range sum.figures() {
		*f = f.Plus(*add[n])
	}
	return &sum
}

// number is what a text begins with, up to a blank.
func number(text string) (float64, bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}
