// Package usage measures the resource use of an instance from outside: CPU time,
// memory, disk and network bytes of the whole environment, from cgroups (v1 and
// v2) and /proc. If the kernel does not expose a counter, the figure is reported
// as missing, with the reason, never as zero.
//
// It must not know environments or workloads: its input is cgroups, processes and
// devices.
package usage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Figure is a measured number, or the reason why there is none.
type Figure struct {
	Value   float64
	Missing string // why there is no value; "" when there is one
}

// Known returns a figure with a value.
func Known(v float64) Figure { return Figure{Value: v} }

// Absent returns a figure without a value, with the reason.
func Absent(format string, args ...any) Figure {
	return Figure{Missing: fmt.Sprintf(format, args...)}
}

// Plus adds two figures. The sum is known if both are.
func (f Figure) Plus(g Figure) Figure {
	switch {
	case f.Missing != "":
		return f
	case g.Missing != "":
		return g
	}
	return Known(f.Value + g.Value)
}

// Minus subtracts a figure. The difference is known if both are.
func (f Figure) Minus(g Figure) Figure {
	return f.Plus(g.Over(-1))
}

// Over divides a figure.
func (f Figure) Over(divisor float64) Figure {
	f.Value /= divisor
	return f
}

// more adds to a figure that is known.
func (f *Figure) more(v float64) {
	if f.Missing == "" {
		f.Value += v
	}
}

// MarshalJSON writes a number, or {"missing": "reason"}.
func (f Figure) MarshalJSON() ([]byte, error) {
	if f.Missing != "" {
		return json.Marshal(map[string]string{"missing": f.Missing})
	}
	return json.Marshal(f.Value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Figure) UnmarshalJSON(data []byte) error {
	var absent struct {
		Missing string `json:"missing"`
	}
	if len(data) > 0 && data[0] == '{' {
		if err := json.Unmarshal(data, &absent); err != nil {
			return err
		}
		*f = Figure{Missing: absent.Missing}
		return nil
	}
	*f = Figure{}
	if value, err := strconv.ParseFloat(string(data), 64); err == nil {
		f.Value = value
		return nil
	}
	return json.Unmarshal(data, &f.Value) // null, or the error
}

// unrecorded is why a figure is missing that a journal lacks: the version of tare
// that wrote it did not measure it.
const unrecorded = "not recorded by the version of tare that ran the trial"

// nothing is the usage of which nothing is recorded.
var nothing = Unknown(unrecorded)

// IsZero reports whether the figure is not recorded, so that it is not written
// either. It is false for a figure with the value 0.
func (f Figure) IsZero() bool { return f.Missing == unrecorded }

// Usage is what the whole environment used between two moments.
type Usage struct {
	CPUUser      Figure `json:"cpu_user_s"`               // seconds
	CPUSystem    Figure `json:"cpu_system_s"`             // seconds
	CPUThrottled Figure `json:"cpu_throttled_s,omitzero"` // seconds
	MemoryPeak   Figure `json:"memory_peak_b"`            // bytes, without the page cache
	MemoryMean   Figure `json:"memory_mean_b"`            // bytes, without the page cache
	// CPUTime is the CPU time where its source does not tell user and system time apart,
	// and WorkingSet the mean memory in bytes where it is known only together with the page
	// cache in use; nil elsewhere.
	CPUTime    *Figure `json:"cpu_s,omitempty"`
	WorkingSet *Figure `json:"working_set_b,omitempty"`
	// MemorySeconds is the integral of memory over time: bytes times seconds.
	MemorySeconds Figure `json:"memory_b_s,omitzero"`
	CachePeak     Figure `json:"cache_peak_b,omitzero"` // bytes of page cache
	CacheMean     Figure `json:"cache_mean_b,omitzero"`
	CacheSeconds  Figure `json:"cache_b_s,omitzero"`
	DiskRead      Figure `json:"disk_read_b"`    // bytes
	DiskWritten   Figure `json:"disk_written_b"` // bytes
	DiskReads     Figure `json:"disk_reads,omitzero"`
	DiskWrites    Figure `json:"disk_writes,omitzero"`
	NetReceived   Figure `json:"net_received_b"` // bytes
	NetSent       Figure `json:"net_sent_b"`     // bytes
	PacketsIn     Figure `json:"packets_received,omitzero"`
	PacketsOut    Figure `json:"packets_sent,omitzero"`
	Switches      Figure `json:"switches,omitzero"` // context switches
	MinorFaults   Figure `json:"minor_faults,omitzero"`
	MajorFaults   Figure `json:"major_faults,omitzero"`
	StallCPU      Figure `json:"stall_cpu_s,omitzero"` // seconds in which something waited
	StallIO       Figure `json:"stall_io_s,omitzero"`
	StallMemory   Figure `json:"stall_memory_s,omitzero"`
	ThreadsPeak   Figure `json:"threads_peak,omitzero"`
	ThreadsMean   Figure `json:"threads_mean,omitzero"`
	ProcessesPeak Figure `json:"processes_peak,omitzero"`
	ProcessesMean Figure `json:"processes_mean,omitzero"`
	// Parts divide the CPU time by role and process.
	Parts []Part `json:"parts,omitempty"`
	// Inside is what the instance's own kernel counted; nil if it was not read.
	Inside *Inside `json:"inside,omitempty"`
	// Host is the usage of the whole machine in the same time, Sampler the overhead
	// of the sampling; nil if there was none.
	Host    *HostUsage `json:"host,omitempty"`
	Sampler *Effort    `json:"sampler,omitempty"`
	// Notes say what the figures of this trial may lack.
	Notes []string `json:"notes,omitempty"`
}

// Figures returns pointers to all figures of a usage.
func (u *Usage) Figures() []*Figure {
	return []*Figure{
		&u.CPUUser, &u.CPUSystem, &u.CPUThrottled, &u.MemoryPeak, &u.MemoryMean, &u.MemorySeconds,
		&u.CachePeak, &u.CacheMean, &u.CacheSeconds, &u.DiskRead, &u.DiskWritten, &u.DiskReads, &u.DiskWrites,
		&u.NetReceived, &u.NetSent, &u.PacketsIn, &u.PacketsOut, &u.Switches, &u.MinorFaults, &u.MajorFaults,
		&u.StallCPU, &u.StallIO, &u.StallMemory, &u.ThreadsPeak, &u.ThreadsMean, &u.ProcessesPeak, &u.ProcessesMean,
	}
}

// Unknown returns a usage in which all figures are missing, with the reason.
func Unknown(format string, args ...any) Usage {
	var u Usage
	absent := Absent(format, args...)
	for _, f := range u.Figures() {
		*f = absent
	}
	return u
}

// UnmarshalJSON implements json.Unmarshaler. A figure that is not there is
// missing.
func (u *Usage) UnmarshalJSON(data []byte) error {
	type plain Usage
	read := nothing
	if err := json.Unmarshal(data, (*plain)(&read)); err != nil {
		return err
	}
	*u = read
	return nil
}

// CPU returns user and system time together.
func (u Usage) CPU() Figure {
	if u.CPUTime != nil {
		return *u.CPUTime
	}
	return u.CPUUser.Plus(u.CPUSystem)
}

// Together is why a figure is missing that only the sources have which do not tell its
// parts apart.
const Together = "its parts are known"

// Working returns the working set.
func (u Usage) Working() Figure {
	if u.WorkingSet != nil {
		return *u.WorkingSet
	}
	return Absent(Together)
}

// plusTogether adds what is known without its parts, before the parts are added.
func (u *Usage) plusTogether(other Usage) {
	if u.CPUTime != nil || other.CPUTime != nil {
		sum := u.CPU().Plus(other.CPU())
		u.CPUTime = &sum
	}
	if u.WorkingSet != nil || other.WorkingSet != nil {
		sum := u.Working().Plus(other.Working())
		u.WorkingSet = &sum
	}
}

// Sum adds up what several instances used in the same time. A peak is the sum of
// their peaks, which may not have been at the same moment.
func Sum(usages ...Usage) Usage {
	if len(usages) == 0 {
		return Usage{}
	}
	total := usages[0]
	parts := [][]Part{total.Parts}
	efforts := []*Effort{total.Sampler}
	for _, u := range usages[1:] {
		parts = append(parts, u.Parts)
		total.Host, total.Inside = total.Host.plus(u.Host), total.Inside.plus(u.Inside)
		if u.Sampler != nil && !slices.Contains(efforts, u.Sampler) {
			efforts = append(efforts, u.Sampler)
		}
		total.plusTogether(u)
		add := u.Figures()
		for i, f := range total.Figures() {
			*f = f.Plus(*add[i])
		}
		for _, note := range u.Notes {
			if !slices.Contains(total.Notes, note) {
				total.Notes = append(slices.Clone(total.Notes), note)
			}
		}
	}
	total.Parts = mergeParts(parts...)
	if len(efforts) > 1 {
		var sum Effort
		for _, e := range efforts {
			if e != nil {
				sum = sum.plus(*e)
			}
		}
		total.Sampler = &sum
	}
	return total
}
