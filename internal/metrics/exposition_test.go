package metrics_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"pgregory.net/rapid"

	dto "github.com/prometheus/client_model/go"

	"tare/internal/metrics"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/testing/metricstest"
	"tare/internal/testing/prometheustest"
	"tare/internal/usage"
	"tare/internal/verdict"
)

// gather is what Prometheus is shown of a run.
func gather(t interface{ Fatal(...any) }, r *metrics.Run) map[string]*dto.MetricFamily {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(r)
	list, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, f := range list {
		all[f.GetName()] = f
	}
	return all
}

// value is that of the first series of a family that has the label values.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) (float64, bool) {
	for _, m := range families[name].GetMetric() {
		var has []string
		for _, l := range m.Label {
			has = append(has, l.GetValue())
		}
		if !slices.ContainsFunc(labels, func(want string) bool { return !slices.Contains(has, want) }) {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue(), true
		}
	}
	return 0, false
}

func made(earlier ...rundir.Trial) *metrics.Run {
	return metrics.New(metricstest.Manifest(), metricstest.Plan(), earlier, time.Now)
}

// underWay is a run in the middle of a trial, where everything is known.
func underWay() *metrics.Run {
	trials := metricstest.Trials()
	r := made()
	r.Enter(metrics.Preparing)
	r.Enter(metrics.Running)
	for i, t := range trials {
		r.Tried(t, metricstest.Contrasts(trials[:i+1]))
	}
	r.Progress(schedule.Progress{Block: 12, MaxBlock: 60, NextLook: 15, Left: 1, Remaining: time.Minute})
	r.Trying(schedule.Slot{Block: 12, Environment: "docker", Workload: "redis", Level: "clients=1"})
	r.Watch("", subject.Cell{Environment: "docker", Workload: "redis"})(metricstest.Reading(1))
	used := metricstest.Usage()
	used.DiskRead = usage.Absent("the kernel counts none")
	last := trials[0]
	last.Usage = &used
	r.Tried(last, nil)
	r.Trying(schedule.Slot{Block: 12, Environment: "docker", Workload: "redis", Level: "clients=1"})
	return r
}

func TestAllFamiliesAreShownAndNamedAsPrometheusWantsIt(t *testing.T) {
	families := gather(t, underWay())
	var text bytes.Buffer
	for _, f := range metrics.Families() {
		if f.Shown == metrics.Finished {
			continue
		}
		got := families[f.Name]
		if got == nil {
			t.Errorf("%s is not shown", f.Name)
			continue
		}
		if !strings.EqualFold(got.GetType().String(), string(f.Type)) {
			t.Errorf("%s is a %v, and the list says %s", f.Name, got.GetType(), f.Type)
		}
		if _, err := expfmt.MetricFamilyToText(&text, got); err != nil {
			t.Fatal(err)
		}
		delete(families, f.Name)
	}
	for name := range families {
		t.Errorf("%s is shown and not in the list", name)
	}
	problems, err := promlint.New(bytes.NewReader(text.Bytes())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if output := prometheustest.Promtool(t, text.String(), "check", "metrics"); output != "" {
		t.Errorf("promtool check metrics: %s", output)
	}
}

func TestEveryCounterContinuesAfterItsTrial(t *testing.T) {
	r := made()
	used := metricstest.Usage()
	trial := rundir.Trial{Environment: "native", Workload: "redis", Status: rundir.OK, Usage: &used, HostSeconds: 4}
	for range 3 {
		r.Tried(trial, nil)
	}
	families := gather(t, r)
	for i, q := range usage.Quantities {
		name, want := metrics.Uses[i].Name, 3.
		if q.Name == "cpu" {
			want = 6 // in user mode and in the kernel
		}
		got, shown := value(families, name, "native", "redis")
		switch {
		case q.Kind == usage.Counter && got != want:
			t.Errorf("%s is %v after three trials that used 1 each, want %v", name, got, want)
		case q.Kind == usage.Gauge && shown:
			t.Errorf("%s is shown, and nothing is held between trials", name)
		}
	}
	if got, _ := value(families, metrics.Watched.Name, "native"); got != 12 {
		t.Errorf("watched for %v s, want 12", got)
	}
}

func TestWhatTheKernelDoesNotCountIsAbsentWithTheReason(t *testing.T) {
	r := made()
	used := metricstest.Usage()
	used.DiskWritten = usage.Absent("io.stat is not there")
	r.Tried(rundir.Trial{Environment: "native", Workload: "redis", Status: rundir.OK, Usage: &used}, nil)
	families := gather(t, r)
	if v, shown := value(families, "tare_environment_disk_written_bytes_total"); shown {
		t.Errorf("bytes written are %v although nothing counted them", v)
	}
	if _, shown := value(families, metrics.Absent.Name, "disk_written", "io.stat is not there"); !shown {
		t.Error("nothing says why the bytes written are absent")
	}
}

func TestCountersNeverFall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := made()
		before := map[string]float64{}
		read := func() {
			for name, f := range gather(rt, r) {
				if f.GetType() != dto.MetricType_COUNTER || strings.HasPrefix(name, "tare_machine") {
					continue
				}
				for _, m := range f.Metric {
					key := name + m.String()[:0]
					for _, l := range m.Label {
						key += " " + l.GetValue()
					}
					if now := m.GetCounter().GetValue(); now < before[key] {
						rt.Fatalf("%s fell from %v to %v", key, before[key], now)
					} else {
						before[key] = now
					}
				}
			}
		}
		for range rapid.IntRange(1, 5).Draw(rt, "trials") {
			environment := rapid.SampledFrom(metricstest.Environments).Draw(rt, "environment")
			var onReading []func(usage.Reading)
			for range rapid.IntRange(0, 3).Draw(rt, "instances") {
				onReading = append(onReading, r.Watch("", subject.Cell{Environment: environment, Workload: "redis"}))
			}
			seconds := 0.0
			for range rapid.IntRange(0, 4).Draw(rt, "looks") {
				seconds += rapid.Float64Range(0, 2).Draw(rt, "between")
				for _, h := range onReading {
					if rapid.Bool().Draw(rt, "seen") {
						seen := metricstest.Reading(seconds)
						seen.CPUSystem.Value *= rapid.Float64Range(.5, 1).Draw(rt, "the system's share")
						h(seen)
					}
				}
				read()
			}
			trial := rundir.Trial{Environment: environment, Workload: "redis", Status: rundir.OK}
			if rapid.Bool().Draw(rt, "counted") {
				trial.Usage, trial.HostSeconds = new(metricstest.Usage()), 1
			}
			r.Tried(trial, nil)
			read()
			for _, h := range onReading {
				h(metricstest.Reading(100)) // too late
			}
			read()
		}
	})
}

func TestAResumedRunContinuesItsCountersFromTheJournal(t *testing.T) {
	trials := metricstest.Trials()
	families := gather(t, made(trials...))
	if got, _ := value(families, metrics.Trials.Name, "docker", "ok"); got != float64(len(trials)/2) {
		t.Errorf("%v trials of docker, want %d", got, len(trials)/2)
	}
	if got, _ := value(families, metrics.LastStart.Name, "docker"); got != .04 {
		t.Errorf("the last start took %v s, want 0.04", got)
	}
}

func TestTheTrialUnderWayIsShownUntilItEnds(t *testing.T) {
	r := made()
	r.Trying(schedule.Slot{Block: 3, Environment: "docker", Workload: "redis", Level: "clients=1"})
	if _, shown := value(gather(t, r), metrics.Trying.Name, "docker", "redis", "clients=1", "3"); !shown {
		t.Error("the trial under way is not shown")
	}
	r.Tried(rundir.Trial{Block: 3, Environment: "docker", Workload: "redis", Level: "clients=1", Status: rundir.Failed, Reason: "x"}, nil)
	families := gather(t, r)
	if families[metrics.Trying.Name] != nil {
		t.Error("a trial that ended is still under way")
	}
	if got, _ := value(families, metrics.Trials.Name, "docker", "failed"); got != 1 {
		t.Errorf("%v failed trials, want 1", got)
	}
}

func TestAnOpenContrastIsShownAsOpen(t *testing.T) {
	trials := metricstest.Trials()
	r := made()
	m := metricstest.Manifest()
	m.Sessions = []rundir.Session{{}}                                         // which goes on
	r.Tried(trials[0], verdict.Contrasts(metricstest.Plan(), trials[:12], m)) // three blocks: too few to say anything
	families := gather(t, r)
	if got, _ := value(families, metrics.Verdicts.Name, "open"); got != 2 {
		t.Errorf("%v open contrasts, want 2", got)
	}
	r.Tried(trials[0], metricstest.Contrasts(trials))
	families = gather(t, r)
	if got, _ := value(families, metrics.Verdict.Name, "docker", "clients=10", "get", "slower"); got != 1 {
		t.Errorf("slower is %v, want 1", got)
	}
	if got, _ := value(families, metrics.Verdict.Name, "docker", "clients=10", "get", "open"); got != 0 {
		t.Errorf("open is %v after the verdict", got)
	}
}

// Two nodes make trials of one cell at the same time: neither ends, resets or replaces
// what the other one shows.
func TestNodesHaveValuesOfTheirOwn(t *testing.T) {
	r := made()
	trial := func(node string, block int) rundir.Trial {
		return rundir.Trial{Node: node, Block: block, Environment: "docker", Workload: "redis", Level: "clients=1", Status: rundir.OK,
			Metrics: map[string]float64{"get": float64(100 * block)}, HostSeconds: 1}
	}
	for block, node := range []string{1: "h1", 2: "h2"} {
		if node != "" {
			r.Trying(schedule.Slot{Node: node, Block: block, Environment: "docker", Workload: "redis", Level: "clients=1"})
		}
	}
	later := r.Watch("h2", subject.Cell{Environment: "docker", Workload: "redis"})
	r.Watch("h1", subject.Cell{Environment: "docker", Workload: "redis"})(metricstest.Reading(1))
	if got, want := r.String(), "opened, redis clients=1 in docker on h1, redis clients=1 in docker on h2"; got != want {
		t.Errorf("the state is %q, not %q", got, want)
	}
	r.Tried(trial("h1", 1), nil)
	later(metricstest.Reading(1))
	families := gather(t, r)
	if _, shown := value(families, metrics.Trying.Name, "h1"); shown {
		t.Error("the trial on h1 has ended and is shown")
	}
	if _, shown := value(families, metrics.Trying.Name, "h2", "2"); !shown {
		t.Error("the trial on h2 goes on and is not shown")
	}
	if got, _ := value(families, "tare_environment_cpu_seconds_total", "h2", "docker"); got == 0 {
		t.Error("the readings on h2 were lost when the trial on h1 ended")
	}
	r.Tried(trial("h2", 2), nil)
	r.Tried(trial("h1", 1), nil)
	families = gather(t, r)
	for node, want := range map[string]float64{"h1": 100, "h2": 200} {
		if got, _ := value(families, metrics.Metric.Name, node, "get"); got != want {
			t.Errorf("get on %s is %v, not %v", node, got, want)
		}
	}
	if got, _ := value(families, metrics.BlockNow.Name); got != 2 {
		t.Errorf("the block is %v", got)
	}
}
