package reporttest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tare/internal/attribution/analysis"
	"tare/internal/environment"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// Ladder is a run over a ladder from native to docker: the overlay takes
// five percent, the log path twenty, and the engine three more.
func Ladder() model.Input {
	plan := &study.Plan{Format: 1, Study: "nginx: from native to docker", Name: "explain-nginx", Baseline: "native",
		Workloads: []study.Workload{{Name: "nginx", Fresh: "trial", Levels: []study.Level{{}}, Pack: workload.Pack{Name: "nginx", Title: "pages",
			Metrics: []workload.Metric{{Name: "requests_per_second", Unit: "op/s", Better: "higher", Primary: true}, {Name: "latency_p99", Unit: "us", Better: "lower"}}}}},
		Design:  study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: 60}, Margin: .02, Confidence: .95, Precision: .25, Family: "metric", Drop: "decided"},
		Remarks: []string{"cgroup namespace: engines give none on cgroup v1"}}
	effect, sum, base := map[string]float64{"native": 0}, 0.0, "native"
	plan.Environments = []study.Environment{{Name: "native", Kind: "native", Options: []byte("{}")}}
	for i, p := range []struct {
		part, name, rung string
		cost             float64
	}{
		{"seccomp", "seccomp filter", "01-seccomp", 0},
		{"root", "overlay root", "02-root", math.Log(.95)},
		{"log", "log path through a process of the engine's own", "03-log", math.Log(.8)},
		{analysis.RestPart, "engine and shim of docker", "docker", math.Log(.97)},
	} {
		sum += p.cost
		effect[p.rung] = sum
		plan.Environments = append(plan.Environments, study.Environment{Name: p.rung, Kind: "docker", Options: []byte("{}")})
		plan.Steps = append(plan.Steps, study.Step{Part: p.part, Name: p.name, About: fmt.Sprintf("what part %d does <to it>", i), Environment: p.rung, Base: base})
		base = p.rung
	}
	plan.Steps = append(plan.Steps, study.Step{Name: "all parts", Environment: "docker", Base: "native"})
	in := model.Input{Plan: plan, Manifest: rundir.Manifest{Run: "explain-nginx-1", Environments: map[string]rundir.EnvironmentFacts{}}}
	rng := rand.New(rand.NewPCG(3, 5))
	for _, e := range plan.Environments {
		in.Manifest.Environments[e.Name] = rundir.EnvironmentFacts{State: environment.Usable}
	}
	for block := 1; block <= 15; block++ {
		for i, e := range plan.Environments {
			rate := 43000 * math.Exp(effect[e.Name]+.004*rng.NormFloat64())
			in.Trials = append(in.Trials, rundir.Trial{Block: block, Position: i + 1, Environment: e.Name, Workload: "nginx", Status: rundir.OK,
				Metrics: map[string]float64{"requests_per_second": rate, "latency_p99": 1e6 / rate}})
		}
	}
	in.Contrasts = verdict.Contrasts(plan, in.Trials, in.Manifest)
	return in
}
