package run

import (
	"golang.org/x/sys/unix"

	"tare/internal/quantity"
	"tare/internal/study"
	"tare/internal/usage"
)

// fit records in a plan how much memory is available, if instances of several
// environments will live at the same time, and which core they may share. From then on
// the plan says which environments share a block, here and when the run is resumed.
func fit(plan *study.Plan) {
	if plan.Design.Order != study.Alternating {
		return
	}
	plan.ShareCore(cores())
	if available := usage.AvailableMemory(); available.Missing == "" {
		plan.AvailableMemory = quantity.Bytes(available.Value)
	}
}

// cores that this process may use; nil if the kernel does not say.
func cores() (list []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for n := range len(set) * 64 {
		if set.IsSet(n) {
			list = append(list, n)
		}
	}
	return list
}
