package model

import (
	"fmt"

	"tare/internal/rundir"
	"tare/internal/usage/evidence"
)

// kernelShown is the number of rows of each kind that are shown.
const kernelShown = 10

// KernelTable compares what the kernel counted in an environment and in the baseline.
type KernelTable struct {
	Place      string
	Slow, Fast string
	Sections   []evidence.Section
	Remarks    []string
}

// Kernel are the tables of all that was traced on both sides.
func (v *Report) Kernel() (tables []KernelTable) {
	for _, w := range v.Plan.Workloads {
		for _, l := range w.Levels {
			counted := map[string][]evidence.Counted{}
			for _, t := range v.Traced {
				if t.Status == rundir.OK && t.Evidence != nil && t.Workload == w.Name && t.Level == l.Name {
					counted[t.Environment] = append(counted[t.Environment], evidence.Counted{Evidence: *t.Evidence, Operations: t.Metrics[w.Pack.Operations]})
				}
			}
			base := counted[v.Plan.Baseline]
			for _, e := range v.Plan.Environments {
				here := counted[e.Name]
				if e.Name == v.Plan.Baseline || len(here) == 0 || len(base) == 0 {
					continue
				}
				t := KernelTable{
					Place: LevelTitle(w.Name, l.Name), Slow: v.ShownName(e.Name), Fast: v.ShownName(v.Plan.Baseline),
					Sections: evidence.Table(evidence.Compare(here, base), kernelShown),
					Remarks:  evidence.Remarks(here, base),
				}
				if w.Pack.Operations == "" {
					t.Remarks = append([]string{"the workload counts no operations, so nothing is per operation"}, t.Remarks...)
				}
				tables = append(tables, t)
			}
		}
	}
	return tables
}

// Heading is the heading of a table.
func (t KernelTable) Heading() string {
	return fmt.Sprintf("%s: %s vs %s", t.Place, t.Slow, t.Fast)
}
