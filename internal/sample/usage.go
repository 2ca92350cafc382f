// Package sample measures, from outside, what an instance uses: CPU time,
// memory, disk and network bytes of the whole environment, from cgroup v1 or
// v2 and /proc, whichever is there. A figure that the kernel does not give is
// missing with its reason; absent is not zero.
//
// It must not know environments or workloads: it is handed cgroups, processes
// and devices.
package sample

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Figure is a measured number, or the reason why there is none.
type Figure struct {
	Value   float64
	Missing string // why there is no value; "" when there is one
}

// Known is a figure with a value.
func Known(v float64) Figure { return Figure{Value: v} }

// Absent is a figure without a value.
func Absent(format string, args ...any) Figure {
	return Figure{Missing: fmt.Sprintf(format, args...)}
}

// Plus adds two figures; the sum is known only when both are.
func (f Figure) Plus(g Figure) Figure {
	switch {
	case f.Missing != "":
		return f
	case g.Missing != "":
		return g
	}
	return Known(f.Value + g.Value)
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
	return json.Unmarshal(data, &f.Value)
}

// Usage is what the whole environment used between two moments.
type Usage struct {
	CPUUser     Figure `json:"cpu_user_s"`     // seconds
	CPUSystem   Figure `json:"cpu_system_s"`   // seconds
	MemoryPeak  Figure `json:"memory_peak_b"`  // bytes, without the page cache
	MemoryMean  Figure `json:"memory_mean_b"`  // bytes, without the page cache
	DiskRead    Figure `json:"disk_read_b"`    // bytes
	DiskWritten Figure `json:"disk_written_b"` // bytes
	NetReceived Figure `json:"net_received_b"` // bytes
	NetSent     Figure `json:"net_sent_b"`     // bytes
	// Notes say what a figure above may lack in this very trial.
	Notes []string `json:"notes,omitempty"`
}

// CPU is user and system together.
func (u Usage) CPU() Figure { return u.CPUUser.Plus(u.CPUSystem) }

// Sum is what several instances used in the same time. The peak of memory is
// the sum of their peaks, which need not have been at the same moment.
func Sum(usages ...Usage) Usage {
	if len(usages) == 0 {
		return Usage{}
	}
	total := usages[0]
	for _, u := range usages[1:] {
		for _, f := range []struct {
			sum *Figure
			add Figure
		}{
			{&total.CPUUser, u.CPUUser}, {&total.CPUSystem, u.CPUSystem},
			{&total.MemoryPeak, u.MemoryPeak}, {&total.MemoryMean, u.MemoryMean},
			{&total.DiskRead, u.DiskRead}, {&total.DiskWritten, u.DiskWritten},
			{&total.NetReceived, u.NetReceived}, {&total.NetSent, u.NetSent},
		} {
			*f.sum = f.sum.Plus(f.add)
		}
		for _, note := range u.Notes {
			if !slices.Contains(total.Notes, note) {
				total.Notes = append(slices.Clone(total.Notes), note)
			}
		}
	}
	return total
}
