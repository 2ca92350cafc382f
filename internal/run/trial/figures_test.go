package trial

import (
	"maps"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/usage"
	"tare/internal/workload"
)

// elsewhere is an instance on another machine.
type elsewhere struct{ environment.Instance }

func (elsewhere) Footprint() usage.Footprint {
	return usage.Footprint{Elsewhere: struct{ usage.Elsewhere }{}}
}

func TestMetricsOfSeveralCopiesAreCombined(t *testing.T) {
	metrics := []workload.Metric{
		{Name: "rate", Unit: "op/s", Better: "higher"}, {Name: "worst", Across: "max", Field: "latency"}, {Name: "mean", Field: "latency"},
	}
	for name, c := range map[string]struct {
		copies  []rundir.Copy
		metrics map[string]float64
		missing map[string]string
	}{
		"one": {[]rundir.Copy{{Metrics: map[string]float64{"rate": 5, "latency": 2}}},
			map[string]float64{"rate": 5, "latency": 2, "worst": 2, "mean": 2}, nil},
		"two": {[]rundir.Copy{{Metrics: map[string]float64{"rate": 5, "latency": 2}}, {Metrics: map[string]float64{"rate": 7, "latency": 4}}},
			map[string]float64{"rate": 12, "worst": 4, "mean": 3}, nil},
		"one lacks a metric": {[]rundir.Copy{{Metrics: map[string]float64{"rate": 5}}, {Missing: map[string]string{"rate": "no line"}}},
			map[string]float64{}, map[string]string{"rate": "copy 2: no line"}},
	} {
		row := combine(metrics, c.copies)
		if !maps.Equal(row.Metrics, c.metrics) || !maps.Equal(row.Missing, c.missing) {
			t.Errorf("%s: %v, missing %v", name, row.Metrics, row.Missing)
		}
	}
}

func TestAColdWorkloadIncludesTheStart(t *testing.T) {
	for cold, want := range map[bool]float64{false: 2, true: 12} {
		pack := workload.Pack{Cold: cold, Metrics: []workload.Metric{{Name: "wall", Field: workload.WallSeconds}, {Name: "ready", Field: workload.ReadySeconds}}}
		s := lifecycle.CopySample{Pack: pack, Exit: agent.Exit{Started: time.Second, Ended: 3 * time.Second}, Ready: 2 * time.Second}
		c, err := copyFigures(s, instances.Start{Took: 10 * time.Second})
		if err != nil || c.Metrics["wall"] != want || c.Metrics["ready"] != want {
			t.Errorf("cold %t: %v, %v", cold, c.Metrics, err)
		}
	}
}

func TestTimesOfSeveralCopiesAreThoseOfTheSlowest(t *testing.T) {
	copies := []lifecycle.CopySample{
		{Exit: agent.Exit{Ended: time.Second}, Elapsed: 2 * time.Second}, {Exit: agent.Exit{Ended: 3 * time.Second}, Elapsed: 4 * time.Second},
	}
	starts := make([]instances.Start, 2)
	for n, want := range map[int]float64{1: 2, 2: 5} {
		f, err := figuresOf(nil, lifecycle.Sample{Copies: copies[:n], Elapsed: 5 * time.Second}, starts, usage.Figure{})
		if err != nil {
			t.Fatal(err)
		}
		if f.host != want || f.guest != float64(2*n-1) {
			t.Errorf("%d copies: %g s by the host's clock, %g s by the instance's", n, f.host, f.guest)
		}
	}
}

func TestTheFirstReasonOfAMissingMetricStays(t *testing.T) {
	var row rundir.Trial
	setMissing(&row.Missing, "rate", "the first")
	setMissing(&row.Missing, "rate", "the second")
	if row.Missing["rate"] != "the first" {
		t.Errorf("got %q", row.Missing["rate"])
	}
}

func TestTheKernelInsideIsComparedWhereItIsAnother(t *testing.T) {
	same := kernelCounters{boot: "x"}
	if in := same.since(t.Context(), nil, nil); !strings.Contains(in.Missing, "seen from outside") {
		t.Errorf("the same kernel: %+v", in)
	}
	own := kernelCounters{boot: "x", before: map[string]string{}}
	if in := own.since(t.Context(), nil, &usage.HostUsage{Boot: "x"}); !strings.Contains(in.Missing, "seen from outside") {
		t.Errorf("the kernel of another host: %+v", in)
	}
}
