package model

import (
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/usage/evidence"
)

// Counted is what the kernel counted in each environment, by the place of the trials.
func (v *Report) Counted() map[subject.Cell][]evidence.Counted {
	counted := map[subject.Cell][]evidence.Counted{}
	for _, t := range v.Traced {
		if w := v.Plan.Workload(t.Workload); w != nil && t.Status == rundir.OK && t.Evidence != nil {
			counted[t.Cell()] = append(counted[t.Cell()], evidence.Counted{Evidence: *t.Evidence, Operations: t.Metrics[w.Pack.Operations]})
		}
	}
	return counted
}
