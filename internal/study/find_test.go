package study

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/workload"
	"tare/internal/workload/capacity"
)

func TestASearchForTheCapacityIsInThePlan(t *testing.T) {
	p, err := neighbourly(`{use: nginx-open, find: capacity, objective: "p99 <= 50ms, p99.9<=0.2s, errors <= 0.1%, throughput >= 10, cpu <= 120%", rate: 2000, page: [1KiB, 64KiB]}`, "{}")
	if err != nil {
		t.Fatal(err)
	}
	w := p.Workloads[0]
	if w.Find == nil || w.Find.Objective != "p99 <= 50ms, p99.9 <= 0.2s, errors <= 0.1%, throughput >= 10, cpu <= 120%" || len(w.Levels) != 2 {
		t.Fatalf("%+v at %+v", w.Find, w.Levels)
	}
	want := []capacity.Term{
		{Text: "p99 <= 50ms", Metric: "latency_p99", Limit: 50_000, Delay: "send_delay_p99"},
		{Text: "p99.9 <= 0.2s", Metric: "latency_p999", Limit: 200_000, Delay: "send_delay_p999"},
		{Text: "errors <= 0.1%", Metric: "error_ratio", Limit: .001},
		{Text: "throughput >= 10", Metric: "throughput", Limit: 10, AtLeast: true},
		{Text: "cpu <= 120%", Metric: "cpu", Limit: 120},
	}
	if c := w.Find.Criteria; !slices.Equal(c.Terms, want) || c.Sent != "rate_achieved" || c.Growth != "service_growth" || c.Answered != "throughput" {
		t.Errorf("the criteria are %+v", c)
	}
	name := func(m workload.Metric) string { return m.Name }
	probe := lists.Map(w.ProbePack().Metrics, name)
	slices.Sort(probe)
	if want := []string{"error_ratio", "latency_p99", "latency_p999", "rate_achieved", "requests", "send_delay_p99", "send_delay_p999", "service_growth", "throughput"}; !slices.Equal(probe, want) {
		t.Errorf("a probe has %q", probe)
	}
	all := lists.Map(w.Pack.Metrics, name)
	if m := w.Pack.Metric(workload.Capacity); m == nil || !m.Primary || m.Better != "higher" || slices.Contains(all, "latency_p99") || !slices.Contains(all, "cpu_per_kop") {
		t.Errorf("the search has %q", all)
	}
	if n := p.Rounds(w, w.Levels[0]); n != capacity.Probes {
		t.Errorf("%d probes in a block", n)
	}
	if from, most := w.Pack.Rates(w.Levels[0].Parameters); from != 2000 || most != 1_000_000 {
		t.Errorf("it begins at %g/s and goes up to %g/s", from, most)
	}
}

func TestInvalidSearchesAreRejected(t *testing.T) {
	for entry, want := range map[string]string{
		`{use: nginx-open, find: throughput, objective: "p99 <= 5ms"}`:             `find: unknown word "throughput"; known: capacity`,
		`{use: redis, find: capacity, objective: "p99 <= 5ms"}`:                    "find: workload redis has no open loop: its driver does not send at a given rate. Workloads that have one: nginx-open",
		`{use: nginx-open, find: capacity}`:                                        "objective: is missing; it says what the capacity has to hold",
		`{use: nginx-open, objective: "p99 <= 5ms"}`:                               "objective: has no effect without find: capacity",
		`{use: nginx-open, find: capacity, objective: "p99 < 5ms"}`:                "< is not known; a bound is <= or >=",
		`{use: nginx-open, find: capacity, objective: "p99 <= 5"}`:                 `p99 <= 5: "5" is not a time such as 50ms`,
		`{use: nginx-open, find: capacity, objective: "latency <= 5ms"}`:           `unknown metric "latency"`,
		`{use: nginx-open, find: capacity, objective: "p101 <= 5ms"}`:              `unknown metric "p101"`,
		`{use: nginx-open, find: capacity, objective: "errors <= 1ms"}`:            `errors <= 1ms: "1ms" is not a share such as 0.1%`,
		`{use: nginx-open, find: capacity, objective: "p99 <= 5ms", rate: [1, 2]}`: "rate: find: capacity searches it; write one value",
		`{use: nginx-open, find: capacity, objective: "p99 <= 5ms", instances: 2}`: "instances: find: capacity searches the rate of one copy",
	} {
		if _, err := neighbourly(entry, "{}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %q in it", entry, err, want)
		}
	}
}
