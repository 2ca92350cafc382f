// Package metricstest is an artificial run with a value for every metric: two
// environments, one workload at two levels.
package metricstest

import (
	"math"
	"math/rand/v2"
	"time"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// Name of the run.
const Name = "made-up-20261121-014500"

// Blocks is the number of blocks of the run.
const Blocks = 12

// Began is the start of the run.
var Began = time.Date(2026, 11, 21, 1, 45, 0, 0, time.UTC)

// Environments and levels of the run.
var (
	Environments = []string{"native", "docker"}
	Levels       = []string{"clients=1", "clients=10"}
)

// Plan of the run.
func Plan() *study.Plan {
	w := study.Workload{Name: "redis", Fresh: "block", Pack: workload.Pack{Name: "redis", Title: "Redis", Operations: "get", Metrics: []workload.Metric{
		{Name: "get", Unit: "requests/s", Better: "higher", Primary: true},
		{Name: "get_p99", Unit: "ms", Better: "lower"},
	}}}
	for _, l := range Levels {
		w.Levels = append(w.Levels, study.Level{Name: l})
	}
	p := &study.Plan{Format: 1, Study: "made up", Name: "made-up", Baseline: Environments[0], Workloads: []study.Workload{w},
		Design: study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 6, Max: Blocks}, Margin: .02, Confidence: .95, Precision: .25, Family: "metric", Drop: "never"}}
	for _, e := range Environments {
		p.Environments = append(p.Environments, study.Environment{Name: e, Kind: e})
	}
	return p
}

// Manifest of the run.
func Manifest() rundir.Manifest {
	m := rundir.Manifest{Format: rundir.Format, Run: Name, Tare: "test", Created: Began, Environments: map[string]rundir.EnvironmentFacts{}}
	for _, e := range Environments {
		m.Environments[e] = rundir.EnvironmentFacts{State: environment.Usable}
	}
	return m
}

// TrialSeconds is the duration of the driver in each trial.
const TrialSeconds = 2

// Trials of the run: the rate in docker is a tenth lower.
func Trials() (list []rundir.Trial) {
	rng := rand.New(rand.NewPCG(3, 5))
	clock := Began
	for block := 1; block <= Blocks; block++ {
		for position, e := range Environments {
			for k, level := range Levels {
				get := 20000 * float64(k+1) * math.Exp(.005*rng.NormFloat64())
				if e == "docker" {
					get *= .9
				}
				used := Usage()
				t := rundir.Trial{
					Block: block, Position: position*len(Levels) + k + 1, Environment: e, Workload: "redis", Level: level, Status: rundir.OK,
					Instance: e, Started: clock, HostSeconds: TrialSeconds, GuestSeconds: TrialSeconds,
					Metrics: map[string]float64{"get": get, "get_p99": 1.5}, Usage: &used,
					Pressure: &rundir.Pressure{CPU: new(.25), IO: new(.01), Memory: new(0.0), StealSeconds: new(0.0), CanarySeconds: new(.004)},
				}
				if k == 0 {
					t.Phases = []environment.Phase{{Name: "agent", Duration: 40 * time.Millisecond}}
				}
				clock = clock.Add(3 * time.Second)
				t.Ended = clock
				list = append(list, t)
			}
		}
	}
	return list
}

// Contrasts of trials.
func Contrasts(trials []rundir.Trial) []verdict.Contrast {
	return verdict.Contrasts(Plan(), trials, Manifest())
}

// Usage has the value 1 for every quantity.
func Usage() usage.Usage {
	var u usage.Usage
	for _, f := range u.Figures() {
		*f = usage.Known(1)
	}
	one := usage.Known(1)
	u.Parts = []usage.Part{{Role: "workload", Name: "redis-server", CPU: 1.5, Share: .75}, {Role: "shim", Name: "containerd-shim", CPU: .5, Share: .25}}
	u.Host = &usage.HostUsage{Seconds: TrialSeconds, Cores: 2, CPU: usage.Known(5), Watched: one, Tare: one, Others: one, KernelThreads: one, Unattributed: one, Energy: one}
	u.Sampler = &usage.Effort{Passes: 20, CPU: .01, PassMean: .0005, PassMax: .001, Late: 1}
	return u
}

// Reading returns a reading at a time after the first one: counters are half the
// number of seconds, gauges are 1.
func Reading(seconds float64) usage.Reading {
	r := usage.Reading{Seconds: seconds}
	for _, q := range usage.Quantities {
		*q.Of(&r) = usage.Known(1)
		if q.Kind == usage.Counter {
			*q.Of(&r) = usage.Known(seconds / 2)
		}
	}
	return r
}
