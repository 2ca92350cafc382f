package usage

import (
	"encoding/json"
	"strconv"
	"strings"

	"tare/internal/linux/procfile"
)

// Inside is what the instance's own kernel, that of a guest or a sandbox, counted
// while the driver ran. It is not part of the usage seen from outside, but shows
// how that was spent.
type Inside struct {
	// Missing is why there are no values: the instance shares the host's kernel.
	Missing string `json:"missing,omitempty"`

	CPUUser     Figure `json:"cpu_user_s,omitzero"`
	CPUSystem   Figure `json:"cpu_system_s,omitzero"`
	IRQ         Figure `json:"irq_s,omitzero"`
	SoftIRQ     Figure `json:"softirq_s,omitzero"`
	Steal       Figure `json:"steal_s,omitzero"` // wanted by the guest and not granted
	Switches    Figure `json:"switches,omitzero"`
	Interrupts  Figure `json:"interrupts,omitzero"`
	Forks       Figure `json:"forks,omitzero"`
	MinorFaults Figure `json:"minor_faults,omitzero"`
	MajorFaults Figure `json:"major_faults,omitzero"`
	MemoryTotal Figure `json:"memory_total_b,omitzero"`
	MemoryUsed  Figure `json:"memory_used_b,omitzero"` // at the end: what is not available
	Cache       Figure `json:"cache_b,omitzero"`       // at the end
	Load        Figure `json:"load,omitzero"`          // at the end: average of the last minute
}

func (i *Inside) figures() []*Figure {
	return []*Figure{&i.CPUUser, &i.CPUSystem, &i.IRQ, &i.SoftIRQ, &i.Steal, &i.Switches, &i.Interrupts, &i.Forks,
		&i.MinorFaults, &i.MajorFaults, &i.MemoryTotal, &i.MemoryUsed, &i.Cache, &i.Load}
}

// The files of these values.
const (
	insideStat = "/proc/stat"
	insideMem  = "/proc/meminfo"
	insideVM   = "/proc/vmstat"
	insideLoad = "/proc/loadavg"
)

// InsideFiles are the files to read in the instance, before and after.
var InsideFiles = []string{insideStat, insideMem, insideVM, insideLoad}

// NotInside returns an Inside without values, with the reason.
func NotInside(why string) *Inside {
	i := &Inside{Missing: why}
	for _, f := range i.figures() {
		f.Missing = unrecorded
	}
	return i
}

// UnmarshalJSON implements json.Unmarshaler. A value that is not there is
// missing.
func (i *Inside) UnmarshalJSON(data []byte) error {
	type plain Inside
	read := *NotInside("")
	if err := json.Unmarshal(data, (*plain)(&read)); err != nil {
		return err
	}
	*i = read
	return nil
}

// InsideOf compares the contents of InsideFiles before and after. A file that
// could not be read is not in the maps.
func InsideOf(before, after map[string]string) *Inside {
	i := &Inside{}
	for _, f := range i.figures() {
		*f = Absent("the instance's kernel does not report it")
	}
	a, b := ParseStat(before[insideStat]), ParseStat(after[insideStat])
	for f, spent := range map[*Figure]float64{
		&i.CPUUser: b.User - a.User, &i.CPUSystem: b.System - a.System, &i.IRQ: b.IRQ - a.IRQ, &i.SoftIRQ: b.SoftIRQ - a.SoftIRQ, &i.Steal: b.Steal - a.Steal,
	} {
		// A kernel without any time, not even idle, does not count it.
		if *f = Known(max(spent, 0)); b.all == 0 {
			*f = Absent("the instance's kernel counts no CPU time")
		}
	}
	for name, f := range map[string]*Figure{"ctxt": &i.Switches, "intr": &i.Interrupts, "processes": &i.Forks} {
		if n, known := b.Counts[name]; known && n > 0 {
			*f = Known(max(n-a.Counts[name], 0))
		}
	}
	vmBefore, vm := parsePairs(before[insideVM]), parsePairs(after[insideVM])
	if faults, known := vm["pgfault"]; known {
		major := vm["pgmajfault"] - vmBefore["pgmajfault"]
		i.MinorFaults, i.MajorFaults = Known(max(faults-vmBefore["pgfault"]-major, 0)), Known(max(major, 0))
	}
	memory := parsePairs(after[insideMem])
	if total := memory["MemTotal"]; total > 0 {
		i.MemoryTotal = Known(total * 1024)
		if available, known := memory["MemAvailable"]; known {
			i.MemoryUsed = Known(max(total-available, 0) * 1024)
		}
		if cached, known := memory["Cached"]; known {
			i.Cache = Known(max(cached+memory["Buffers"]-memory["Shmem"], 0) * 1024)
		}
	}
	if load, known := number(after[insideLoad]); known && b.all > 0 {
		i.Load = Known(load)
	}
	return i
}

// Stat has the lines of /proc/stat that are used; times are in seconds.
type Stat struct {
	User, System, IRQ, SoftIRQ, Steal float64
	all                               float64            // including idle
	Counts                            map[string]float64 // first number of the other lines
}

// ParseStat reads a text of /proc/stat. What it lacks is 0, or not in Counts.
func ParseStat(text string) Stat {
	s := Stat{Counts: map[string]float64{}}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if fields[0] != "cpu" {
			if n, ok := number(fields[1]); ok {
				s.Counts[fields[0]] = n
			}
			continue
		}
		var column [8]float64 // user nice system idle iowait irq softirq steal
		for i := range min(len(column), len(fields)-1) {
			column[i], _ = number(fields[i+1])
			column[i] /= ticks
			s.all += column[i]
		}
		s.User, s.System, s.IRQ, s.SoftIRQ, s.Steal = column[0]+column[1], column[2], column[5], column[6], column[7]
	}
	return s
}

func parsePairs(text string) map[string]float64 {
	table := map[string]float64{}
	for key, value := range procfile.Pairs([]byte(text)) {
		table[string(key)] = float64(value)
	}
	return table
}

// plus adds the values of another instance.
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

// number parses the first field of a text.
func number(text string) (float64, bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}
