package reporttest

import (
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
	"tare/internal/workload"
)

// Traced is a run with two traced trials on each side, and one that failed.
func Traced() model.Input {
	figures := func(seconds float64) map[string]usage.Figure {
		return map[string]usage.Figure{evidence.InKernel: usage.Known(seconds), "kernel.overlay": usage.Known(seconds / 2), evidence.Syscalls: usage.Known(seconds)}
	}
	trial := func(environment string, seconds float64) rundir.Trial {
		return rundir.Trial{Block: 4, Position: 1, Environment: environment, Workload: "nginx", Status: rundir.OK, Traced: true,
			Metrics: map[string]float64{"requests": 1000},
			Evidence: &evidence.Evidence{Seconds: 1, Times: figures(seconds), Notes: []string{"<a remark>"},
				Counts: map[string]usage.Figure{evidence.Syscalls: usage.Known(5000), evidence.Voluntary: usage.Absent("it is refused")}}}
	}
	failed := trial("docker", 1000)
	failed.Status, failed.Reason = rundir.Failed, "it broke"
	return model.Input{
		Plan: &study.Plan{Study: "evidence", Baseline: "native",
			Environments: []study.Environment{{Name: "native", Kind: "native"}, {Name: "docker", Kind: "docker"}},
			Workloads:    []study.Workload{{Name: "nginx", Levels: []study.Level{{}}, Pack: workload.Pack{Operations: "requests"}}}},
		Traced: []rundir.Trial{trial("native", .1), trial("native", .1), trial("docker", .2), trial("docker", .2), failed},
	}
}
