package model

import (
	"slices"
	"testing"

	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

func TestTheMedianOfALatencyStandsWhereItsTailIsUndecided(t *testing.T) {
	p50, p99 := 50., 99.
	w := Workload{Workload: study.Workload{Name: "redis"}}
	w.Pack.Metrics = []workload.Metric{{Name: "rps"}, {Name: "get_p50", Percentile: &p50, Of: "get"}, {Name: "set_p50", Percentile: &p50, Of: "set"}, {Name: "set_p99", Percentile: &p99, Of: "set"}}
	d := &decision{Report: &Report{Input: Input{Plan: &study.Plan{}}}}
	for name, c := range map[string]struct {
		median, tail verdict.Verdict
		want         []string
	}{
		"both are decided":   {verdict.Slower, verdict.Slower, []string{"set_p99"}},
		"the median alone":   {verdict.Slower, verdict.Inconclusive, []string{"set_p99", "set_p50"}},
		"neither is decided": {verdict.Inconclusive, verdict.Inconclusive, []string{"set_p99"}},
	} {
		var own []placed
		for metric, v := range map[string]verdict.Verdict{"set_p50": c.median, "set_p99": c.tail} {
			r := Row{Workload: w}
			r.Metric.Name = metric
			own = append(own, placed{Row: r, Contrast: &verdict.Contrast{Verdict: v}})
		}
		if got := d.latencyOf(w, own); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
