package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
	"tare/internal/workload"
	"tare/internal/workload/capacity"
)

// openPack sends at a rate.
func openPack() workload.Pack {
	pack := webPack()
	pack.Parameters = map[string]workload.Parameter{"rate": {Default: "100", Max: new(1e6)}}
	pack.Driver = &workload.Step{Run: "drive ${rate}"}
	pack.Parser = workload.Parser{Regex: []string{`sent (?P<sent>\S+) p99 (?P<latency_p99>\S+) requests (?P<requests>\S+)`}}
	pack.OpenLoop = &workload.OpenLoop{Rate: "rate", Latency: "latency_p99", Sent: "sent"}
	pack.Operations = "requests"
	pack.Metrics = []workload.Metric{
		{Name: workload.Capacity, Unit: "op/s", Better: "higher", Primary: true}, {Name: "requests", Unit: "op", Better: "higher"},
	}
	return pack
}

// newSearcher searches the capacity of environments that hold 50 ms up to so many
// requests a second, with a driver that sends up to so many.
func newSearcher(t *testing.T, holds map[string]float64, driver *float64) (*Runner, *fakeenv.Log) {
	t.Helper()
	r, log, a := newRunner(t, openPack(), study.Level{})
	r.plan.Workloads[0].Find = &study.Find{
		Objective: "p99 <= 50ms",
		Criteria:  capacity.Criteria{Sent: "sent", Terms: []capacity.Term{{Text: "p99 <= 50ms", Metric: "latency_p99", Limit: 50}}},
		Metrics:   []workload.Metric{{Name: "sent", Unit: "op/s"}, {Name: "latency_p99", Unit: "ms"}, {Name: "requests", Unit: "op"}},
	}
	a.Script = func(instance, command string) (result fakeenv.Result) {
		var rate float64
		if _, err := fmt.Sscanf(command, "drive %f", &rate); err == nil {
			latency := 5.
			if rate > holds[strings.Split(instance, "-")[1]] {
				latency = 500
			}
			result.Stdout, result.After = fmt.Sprintf("sent %g p99 %g requests %g\n", min(rate, *driver), latency, min(rate, *driver)), time.Second
		}
		return result
	}
	return r, log
}

func TestASearchFindsTheCapacityOfEachEnvironment(t *testing.T) {
	driver := math.Inf(1)
	holds := map[string]float64{"a": 9000, "b": 2500}
	r, log := newSearcher(t, holds, &driver)
	r.plan.Baseline = "b"
	var made []rundir.Trial
	for block := range 3 {
		before := drives(log)
		trials, err := r.Run(t.Context(), inBlock(block+1, alternating(capacity.Probes, "a", "b")))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range trials {
			found := one.Metrics[workload.Capacity]
			if one.Status != rundir.OK || math.Abs(math.Log(found/holds[one.Environment])) > .03 {
				t.Errorf("block %d, %s: %s %s, %v", block+1, one.Environment, one.Status, one.Reason, one.Metrics)
			}
			if _, other := one.Metrics["latency_p99"]; other || len(one.Metrics) != 2 {
				t.Errorf("what is measured at several rates is no figure of the trial: %v", one.Metrics)
			}
			requests := 0.
			for n, round := range one.Rounds {
				requests += round.Metrics["requests"]
				if p := round.Probe; p == nil || p.Rate != round.Metrics["requests"] || (p.Outcome == capacity.Held) != (p.Rate <= holds[one.Environment]) || round.Metrics["latency_p99"] == 0 {
					t.Errorf("round %d of %s: %+v", n+1, one.Environment, round)
				}
			}
			if requests != one.Metrics["requests"] {
				t.Errorf("%g requests, and the rounds have %g", one.Metrics["requests"], requests)
			}
		}
		more := drives(log) - before - 2*capacity.Probes
		if block == 0 && more == 0 || block > 0 && more > 0 {
			t.Errorf("block %d begins with %d probes for a first rate", block+1, more)
		}
		made = append(made, trials...)
	}
	resumed := NewRunner(Config{Instances: r.Instances, Before: made})
	for c, rate := range r.capacities {
		if len(r.capacities) != 2 || !slices.Equal(resumed.capacities[c], rate) {
			t.Errorf("resumed with %v instead of %v", resumed.capacities, r.capacities)
		}
	}
}

func TestADriverThatIsTooSlowGivesNoCapacity(t *testing.T) {
	driver := 1000.
	r, _ := newSearcher(t, map[string]float64{"a": 9000, "b": 500}, &driver)
	trials, err := r.Run(t.Context(), alternating(capacity.Probes, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := trials[0], trials[1]
	if a.Status != rundir.Failed || !strings.Contains(a.Reason, "the driver could not keep its rate in ") || len(a.Metrics) > 0 || len(a.Rounds) != capacity.Probes {
		t.Errorf("%s %s, %v", a.Status, a.Reason, a.Metrics)
	}
	if b.Status != rundir.OK || math.Abs(b.Metrics[workload.Capacity]/500-1) > .03 {
		t.Errorf("%s %s, %v", b.Status, b.Reason, b.Metrics)
	}
	driver = math.Inf(1) // a failed search is no start of the next
	trials, err = r.Run(t.Context(), inBlock(2, alternating(capacity.Probes, "a", "b")))
	if a := trials[0]; err != nil || math.Abs(a.Metrics[workload.Capacity]/9000-1) > .03 {
		t.Errorf("%v: %s %s, %v", err, a.Status, a.Reason, a.Metrics)
	}
}

func TestASearchOfOneEnvironmentNeedsNoOther(t *testing.T) {
	driver := math.Inf(1)
	r, _ := newSearcher(t, map[string]float64{"a": 9000}, &driver)
	batch := alternating(capacity.Probes, "a")
	batch.Slots[0].Fresh = "trial"
	trials, err := r.Run(t.Context(), batch)
	if err != nil || math.Abs(trials[0].Metrics[workload.Capacity]/9000-1) > .03 {
		t.Errorf("%v: %+v", err, trials[0])
	}
}

// newLoaded is newSearcher with a workload at 70% of the capacity of a.
func newLoaded(t *testing.T, driver *float64) (*Runner, schedule.Batch) {
	t.Helper()
	r, _ := newSearcher(t, map[string]float64{"a": 9000, "b": 2500}, driver)
	r.plan.Baseline = "a"
	w := r.plan.Workloads[0]
	w.Name, w.Find = "web-at-load", nil
	w.Levels = []study.Level{{Name: "load=70%", Shape: w.Levels[0].Shape, Load: &study.AtLoad{Share: .7, Workload: "web"}}}
	w.Pack.Metrics = []workload.Metric{{Name: "latency_p99", Unit: "ms", Better: "lower", Primary: true}, {Name: "requests", Unit: "op", Better: "higher"}}
	r.plan.Workloads = append(r.plan.Workloads, w)
	batch := alternating(3, "a", "b")
	for i := range batch.Slots {
		batch.Slots[i].Workload, batch.Slots[i].Level = w.Name, w.Levels[0].Name
	}
	return r, batch
}

func TestALoadIsAShareOfTheBaselinesCapacityInAllEnvironments(t *testing.T) {
	driver := math.Inf(1)
	r, batch := newLoaded(t, &driver)
	trials, err := r.Run(t.Context(), batch)
	if err != nil || trials[0].Status != rundir.Failed || trials[0].Reason != "load=70%: the capacity of a is not known: no search of web has found it" {
		t.Errorf("before the search: %v, %s %s", err, trials[0].Status, trials[0].Reason)
	}
	found, err := r.Run(t.Context(), alternating(capacity.Probes, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	r.capacities.learn(rundir.Trial{Status: rundir.OK, Environment: "a", Workload: "web", Metrics: map[string]float64{workload.Capacity: 1e5}})
	r.capacities.learn(found[0]) // the median of three is the search's
	if trials, err = r.Run(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	want := math.Round(.7 * found[0].Metrics[workload.Capacity])
	for n, latency := range []float64{5, 500} { // b does not hold this rate
		one := trials[n]
		if one.Status != rundir.OK || one.Rate != want || one.Rounds[2].Metrics["requests"] != want || one.Metrics["requests"] != 3*want || one.Rounds[0].Metrics["sent"] != want {
			t.Errorf("%s: %s %s at %g/s, %+v", one.Environment, one.Status, one.Reason, one.Rate, one.Rounds)
		}
		if one.Metrics["latency_p99"] != latency {
			t.Errorf("%s: the latency is %v", one.Environment, one.Metrics)
		}
	}
}

func TestALoadThatTheDriverDidNotKeepIsNoFigure(t *testing.T) {
	driver := math.Inf(1)
	r, batch := newLoaded(t, &driver)
	r.capacities.learn(rundir.Trial{Status: rundir.OK, Environment: "a", Workload: "web", Metrics: map[string]float64{workload.Capacity: 1000}})
	driver = 600
	trials, err := r.Run(t.Context(), batch)
	if err != nil || trials[0].Status != rundir.Failed || len(trials[0].Metrics) > 0 || !strings.Contains(trials[0].Reason, "the driver could not keep its rate of 700/s in 3 of 3 samples: it sent 600/s") {
		t.Errorf("%v: %s %s", err, trials[0].Status, trials[0].Reason)
	}
}
