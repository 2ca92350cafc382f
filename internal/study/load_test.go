package study

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
)

func TestALoadIsAWorkloadOfItsOwn(t *testing.T) {
	const entry = `{use: nginx-open, as: web, find: capacity, objective: "p99 <= 50ms", page: [1KiB, 64KiB], load: [50%, 0.7]}`
	p, err := neighbourly(entry, "{}")
	if err != nil {
		t.Fatal(err)
	}
	names := lists.Map(p.Workloads, func(w Workload) string { return w.Name })
	if !slices.Equal(names, []string{"web", "web-at-load"}) {
		t.Fatalf("the workloads are %q", names)
	}
	w := p.Workloads[1]
	levels := lists.Map(w.Levels, func(l Level) string { return l.Name })
	if !slices.Equal(levels, []string{"page=1KiB,load=50%", "page=1KiB,load=70%", "page=64KiB,load=50%", "page=64KiB,load=70%"}) {
		t.Errorf("the levels are %q", levels)
	}
	if l := w.Levels[3].Load; l == nil || *l != (AtLoad{.7, "web", "page=64KiB"}) || w.Levels[3].Parameters["page"] != "64KiB" || w.Levels[3].Shape.Copies != 1 {
		t.Errorf("the last one is %+v", w.Levels[3])
	}
	if w.Find != nil || w.Pack.Metric("latency_p99") == nil || w.Pack.Metric("rate_achieved") != nil || p.Workloads[0].Pack.Metric("latency_p99") != nil {
		t.Errorf("its metrics are %+v", w.Pack.Metrics)
	}
	if pack := w.ProbePack(); pack.Metric("rate_achieved") == nil || pack.Metric("latency_p99") == nil {
		t.Error("its samples do not say what the driver sent")
	}
	if kept := p.withSearches([]string{"web-at-load"}); !slices.Contains(kept, "web") {
		t.Errorf("without its search: %q", kept)
	}
}

func TestInvalidLoadsAreRejected(t *testing.T) {
	for entry, want := range map[string]string{
		`{use: nginx-open, load: 70%}`:                                                 "load: is a share of the baseline's capacity, and needs find: capacity",
		`{use: nginx-open, find: capacity, objective: "p99 <= 5ms", load: 170%}`:       "load: needs a share of the capacity from 1% to 100%, such as 70%",
		`{use: nginx-open, find: capacity, objective: "p99 <= 5ms", load: 70}`:         "load: needs a share of the capacity from 1% to 100%, such as 70%",
		`{use: nginx-open, find: capacity, objective: "p99 <= 5ms", load: [70%, 0.7]}`: "load: 70% is listed twice",
		`{use: nginx-open, find: capacity, objective: "p99 <= 5ms", load: []}`:         "load: the list is empty",
		`{use: nginx-open, find: capacity, objective: "p99 <= 5ms", load: soft}`:       `"soft" is not a share`,
	} {
		if _, err := neighbourly(entry, "{}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %q in it", entry, err, want)
		}
	}
	if _, err := neighbourly(`{use: nginx-open, find: capacity, objective: "p99 <= 5ms", load: 70%}`, "{}\ndesign: {order: interleaved}"); err == nil || !strings.Contains(err.Error(), "it needs order: alternating") {
		t.Errorf("interleaved: %v", err)
	}
}
