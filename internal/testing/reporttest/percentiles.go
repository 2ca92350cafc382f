package reporttest

import (
	"math"
	"math/rand/v2"

	"tare/internal/report/model"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// Percentiles is Quick with four percentiles of the latency of nginx, whose tail is
// longer in gvisor; in one of its trials there is none.
func Percentiles() model.Input {
	in := Quick()
	rng := rand.New(rand.NewPCG(2, 3))
	percentiles := []struct {
		name    string
		percent float64
		median  float64
		tail    float64 // in gvisor
	}{{"latency_p50", 50, 3.1, 3.2}, {"latency_p99", 99, 5.1, 3.6}, {"latency_max", 100, 21, 9}, {"latency_p90", 90, 4, 3.3}}
	for i := range in.Plan.Workloads {
		w := &in.Plan.Workloads[i]
		if w.Name != "nginx" {
			continue
		}
		var kept []workload.Metric
		for _, m := range w.Pack.Metrics {
			if m.Name != "latency_p99" {
				kept = append(kept, m)
			}
		}
		for _, p := range percentiles {
			kept = append(kept, workload.Metric{Name: p.name, Unit: "ms", Better: "lower", Percentile: &p.percent, Of: "latency"})
		}
		w.Pack.Metrics = kept
	}
	for i := range in.Trials {
		t := &in.Trials[i]
		if t.Workload != "nginx" || t.Metrics == nil || t.Environment == "gvisor" && t.Block == 5 {
			continue
		}
		delete(t.Missing, "latency_p99")
		for _, p := range percentiles {
			effect := map[string]float64{"native": 1, "docker": 1.1, "gvisor": p.tail, "vm": 6.2}[t.Environment]
			t.Metrics[p.name] = p.median * effect * math.Exp(.05*rng.NormFloat64())
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	return in
}
