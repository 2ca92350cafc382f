package reporttest

import (
	"maps"

	"tare/internal/report/model"
	"tare/internal/verdict"
)

// OnNodes is Quick with blocks that took turns on nodes. On the last one docker and
// gvisor take a tenth more of each metric of which less is better, and give a tenth less
// of the others.
func OnNodes(nodes ...string) model.Input {
	in := Quick()
	for i := range in.Trials {
		t := &in.Trials[i]
		at := (t.Block - 1) % len(nodes)
		t.Node = nodes[at]
		if at < len(nodes)-1 || t.Environment != "docker" && t.Environment != "gvisor" {
			continue
		}
		t.Metrics = maps.Clone(t.Metrics)
		for _, m := range in.Plan.Workload(t.Workload).Pack.Metrics {
			if x, has := t.Metrics[m.Name]; has && m.Better == "higher" {
				t.Metrics[m.Name] = x / 1.1
			} else if has {
				t.Metrics[m.Name] = x * 1.1
			}
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	return in
}
