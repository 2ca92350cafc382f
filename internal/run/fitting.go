package run

import (
	"tare/internal/base/quantity"
	"tare/internal/linux/cgroup"
	"tare/internal/study"
	"tare/internal/usage"
)

// fit records in a plan which core the roles may share, and how much memory is available,
// if instances of several environments will live at the same time. From then on
// the plan says which environments share a block, here and when the run is resumed.
func fit(plan *study.Plan) {
	if plan.Nodes.Set() {
		return // it runs on other machines
	}
	plan.ShareCore(cgroup.OwnCores())
	if plan.Design.Order != study.Alternating {
		return
	}
	if available := usage.AvailableMemory(); available.Missing == "" {
		plan.AvailableMemory = quantity.Bytes(available.Value)
	}
}
