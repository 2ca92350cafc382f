package trial

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/parity"
	"tare/internal/run/schedule"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
	"tare/internal/testing/testenv"
	"tare/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, testenv.EngineConnections()...) }

// webPack prints a rate.
func webPack() workload.Pack {
	return workload.Pack{
		Name: "web", Setup: []workload.Step{{Run: "setup"}}, Driver: &workload.Step{Run: "drive"}, Teardown: []workload.Step{{Run: "teardown"}},
		Parser: workload.Parser{Regex: []string{`rate (?P<rate>\d+)`}},
		Metrics: []workload.Metric{
			{Name: "rate", Unit: "op/s", Better: "higher", Primary: true},
			{Name: "wall", Unit: "s", Better: "lower", Field: workload.WallSeconds},
			{Name: workload.CPUSeconds, Unit: "s", Better: "lower"},
		},
	}
}

// newRunner makes trials of a pack in the environments a and b.
func newRunner(t *testing.T, pack workload.Pack, levels ...study.Level) (*Runner, *fakeenv.Log, *fakeenv.Environment) {
	t.Helper()
	log := &fakeenv.Log{}
	a := &fakeenv.Environment{Log: log, Script: func(_, command string) fakeenv.Result {
		if command == "drive" {
			return fakeenv.Result{Stdout: "rate 7\n", After: 3 * time.Second}
		}
		return fakeenv.Result{}
	}}
	plan := &study.Plan{
		Environments: []study.Environment{{Name: "a", Kind: "fake"}, {Name: "b", Kind: "other"}},
		Workloads:    []study.Workload{{Name: "web", Pack: pack, Levels: levels, Fresh: "block"}},
	}
	if err := plan.ExpandShapes(); err != nil {
		t.Fatal(err)
	}
	r := NewRunner(Config{Instances: instances.Config{
		Plan: plan, Images: map[string]*image.Image{"": {}}, Environments: map[string]environment.Environment{"a": a, "b": a},
	}})
	r.sync = func() {} // of the whole machine
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, log, a
}

// single makes a trial of its own.
func single(ctx context.Context, r *Runner, slot schedule.Slot) (rundir.Trial, error) {
	trials, err := r.Run(ctx, schedule.Batch{Slots: []schedule.Slot{slot}})
	if err != nil {
		return rundir.Trial{}, err
	}
	return trials[0], nil
}

func slot(environment, level, fresh string) schedule.Slot {
	return schedule.Slot{Block: 1, Position: 1, Environment: environment, Workload: "web", Level: level, Fresh: fresh}
}

func TestATrialIsARowWithFiguresOfOneSample(t *testing.T) {
	r, log, a := newRunner(t, webPack(), study.Level{})
	a.Notes = []string{"a note"}
	row, err := single(t.Context(), r, slot("a", "", "block"))
	if err != nil || row.Status != rundir.OK {
		t.Fatalf("%v: %s %s", err, row.Status, row.Reason)
	}
	if row.Metrics["rate"] != 7 || row.Metrics["wall"] != 3 || row.GuestSeconds != 3 || !(row.HostSeconds > 0) || row.Copies != nil {
		t.Errorf("the metrics are %v in %g and %g s", row.Metrics, row.HostSeconds, row.GuestSeconds)
	}
	if row.Missing[workload.CPUSeconds] == "" || row.Usage == nil || row.Pressure == nil {
		t.Errorf("usage %v, missing %v", row.Usage, row.Missing)
	}
	if row.Instance != "b1-a-1" || row.Instances != nil || !slices.Contains(row.Warnings, "a note") {
		t.Errorf("in %s and %v, warnings %q", row.Instance, row.Instances, row.Warnings)
	}
	if again, _ := single(t.Context(), r, slot("a", "", "block")); slices.Contains(again.Warnings, "a note") || again.Instance != "b1-a-1" {
		t.Errorf("the second trial in %s has the warnings %q", again.Instance, again.Warnings)
	}
	trial := []string{"b1-a-1: setup", "b1-a-1: drive", "b1-a-1: teardown"}
	if got := log.Lines(); !slices.Equal(got, slices.Concat([]string{"start b1-a-1"}, trial, trial)) {
		t.Errorf("it ran %q", got)
	}
}

func TestEveryOutcomeIsARowWithAReason(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		change func(*study.Plan, *fakeenv.Environment)
		status rundir.Status
		reason string
	}{
		"a known limit": {func(p *study.Plan, _ *fakeenv.Environment) {
			p.Workloads[0].Pack.KnownLimits = map[string]string{"fake": "no clock"}
		}, rundir.Skipped, "known limit: no clock"},
		"no network": {func(p *study.Plan, _ *fakeenv.Environment) {
			p.Workloads[0].Pack.Roles = map[string]workload.Role{"driver": {Place: workload.Apart}}
			p.Workloads[0].Pack.Driver = &workload.Step{Run: "drive", Role: "driver"}
		}, rundir.Skipped, "known limit: its instances have no network between them"},
		"a failed start": {func(_ *study.Plan, a *fakeenv.Environment) {
			a.Fails = func(string) error { return broken }
		}, rundir.Failed, "start of a: broken"},
		"a failed step": {func(_ *study.Plan, a *fakeenv.Environment) {
			a.Script = func(_, command string) fakeenv.Result { return fakeenv.Result{Code: 2} }
		}, rundir.Failed, "setup command `setup`: exited with status 2"},
		"unreadable output": {func(_ *study.Plan, a *fakeenv.Environment) {
			a.Script = func(string, string) fakeenv.Result { return fakeenv.Result{Stdout: "nothing"} }
		}, rundir.Failed, "rate"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, a := newRunner(t, webPack(), study.Level{})
			c.change(r.plan, a)
			if err := r.plan.ExpandShapes(); err != nil {
				t.Fatal(err)
			}
			row, err := single(t.Context(), r, slot("a", "", "trial"))
			if err != nil || row.Status != c.status || !strings.Contains(row.Reason, c.reason) || row.Ended.IsZero() {
				t.Errorf("%v: %s %q, ended %v", err, row.Status, row.Reason, row.Ended)
			}
		})
	}
}

func TestAnInstanceOfOneTrialStopsWithIt(t *testing.T) {
	r, log, _ := newRunner(t, webPack(), study.Level{})
	r.plan.Workloads[0].Pack.End = []workload.Step{{Run: "end"}}
	if row, err := single(t.Context(), r, slot("a", "", "trial")); err != nil || row.Status != rundir.OK {
		t.Fatalf("%v: %s", err, row.Reason)
	}
	if got := strings.Join(log.Lines(), ", "); got != "start b1-a-1, b1-a-1: setup, b1-a-1: drive, b1-a-1: teardown, b1-a-1: end, stop b1-a-1" {
		t.Error(got)
	}
}

func TestAnInterruptedTrialStopsItsInstances(t *testing.T) {
	r, log, a := newRunner(t, webPack(), study.Level{})
	ctx, cancel := context.WithCancel(t.Context())
	a.Script = func(_, command string) fakeenv.Result {
		if command == "drive" {
			cancel()
			return fakeenv.Result{Runs: true}
		}
		return fakeenv.Result{}
	}
	if _, err := single(ctx, r, slot("a", "", "block")); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(log.Lines(), ", "); got != "start b1-a-1, b1-a-1: setup, b1-a-1: drive, b1-a-1: SIGKILL drive, b1-a-1: teardown, stop b1-a-1" {
		t.Error(got)
	}
}

func TestInstancesOfOtherEnvironmentsStopBeforeATrial(t *testing.T) {
	r, log, _ := newRunner(t, webPack(), study.Level{})
	r.plan.Workloads[0].Pack.Setup, r.plan.Workloads[0].Pack.Teardown = nil, nil
	for _, environment := range []string{"a", "b"} {
		if _, err := single(t.Context(), r, slot(environment, "", "block")); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(log.Lines(), ", "); got != "start b1-a-1, b1-a-1: drive, stop b1-a-1, start b1-b-2, b1-b-2: drive" {
		t.Error(got)
	}
}

func TestAStartIsMeasuredOnceAndItsInstancesWhileIdle(t *testing.T) {
	pack := workload.Pack{Name: "web", Startup: true, Rest: "0.02", Metrics: []workload.Metric{
		{Name: workload.StartSeconds}, {Name: "agent"}, {Name: "rate", Field: workload.StartRate}, {Name: "idle", Field: workload.IdleMemory},
	}}
	r, _, a := newRunner(t, pack, study.Level{Instances: 2})
	a.Phases = []environment.Phase{{Name: environment.PreparePhase, Duration: time.Hour}, {Name: "agent", Duration: 2 * time.Second}}
	row, err := single(t.Context(), r, slot("a", "", "block"))
	if err != nil || row.Status != rundir.OK {
		t.Fatalf("%v: %s", err, row.Reason)
	}
	all := row.Metrics[workload.StartAll]
	if row.Metrics[workload.StartSeconds] != 2 || row.Metrics["agent"] != 2 || len(row.Copies) != 2 || all < 2 || row.Metrics["rate"] != 2/all {
		t.Errorf("%v in the copies %v", row.Metrics, row.Copies)
	}
	if len(row.Series[instancesUp]) != 2 || row.Missing["idle"] == "" {
		t.Errorf("up: %v; missing: %v", row.Series, row.Missing)
	}
	again, err := single(t.Context(), r, slot("a", "", "block"))
	if err != nil || again.Status != rundir.Failed || !strings.Contains(again.Reason, "b1-a-1 was started for an earlier trial") {
		t.Errorf("%v: %s %s", err, again.Status, again.Reason)
	}
}

func TestAnIdleInstanceThatExitsFailsTheMeasurement(t *testing.T) {
	r, _, _ := newRunner(t, webPack(), study.Level{})
	group, err := r.pool.Get(t.Context(), instances.Request{Block: 1, Environment: "a", Fresh: "block", Shape: study.Shape{Copies: 2, Together: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := stayIdle(t.Context(), group.Instances(), time.Millisecond); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stayIdle(ended, group.Instances(), time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
	group.Instances()[1].Agent().Close()
	if err := stayIdle(t.Context(), group.Instances(), time.Minute); err == nil || !strings.Contains(err.Error(), "instance b1-a-2 exited while it was idle") {
		t.Errorf("got %v", err)
	}
}

func TestAFingerprintIsTakenAtTheFirstLevelOfEachPair(t *testing.T) {
	w := &study.Workload{Name: "web", Levels: []study.Level{{Name: "n=1"}, {Name: "n=2"}}}
	f := NewFingerprints(func(p parity.Fingerprint) error {
		if p.Workload == "full" {
			return errors.New("no space left")
		}
		return nil
	}, map[Pair]bool{{"old", "web", ""}: true})
	for _, c := range []struct {
		environment, level string
		want               bool
	}{{"a", "n=1", true}, {"a", "n=2", false}, {"old", "n=1", false}} {
		level, _ := w.Level(c.level)
		if got := f.claim(Pair{c.environment, "web", ""}, spec{workload: w, level: level}); got != c.want {
			t.Errorf("%s at %s: %t", c.environment, c.level, got)
		}
	}
	first := spec{workload: w, level: w.Levels[0]}
	if !f.claim(Pair{"old", "web", "node-2"}, first) {
		t.Error("the fingerprint of another node counts")
	}
	if err := f.store(Pair{"a", "web", ""}, parity.Fingerprint{Environment: "a", Workload: "web"}, nil); err != nil || f.claim(Pair{"a", "web", ""}, first) {
		t.Errorf("after it was stored: %v", err)
	}
	if err := f.store(Pair{"a", "full", ""}, parity.Fingerprint{Environment: "a", Workload: "full"}, nil); err == nil || !f.claim(Pair{"a", "full", ""}, first) {
		t.Error("one that could not be stored counts as taken")
	}
	if (*Fingerprints)(nil).claim(Pair{"a", "web", ""}, first) {
		t.Error("one is wanted where nothing keeps it")
	}
}

func TestOnlyTracedAndCountedTrialsHaveEvidence(t *testing.T) {
	r, _, _ := newRunner(t, webPack(), study.Level{})
	group, err := r.pool.Get(t.Context(), instances.Request{Block: 1, Environment: "a", Fresh: "block", Shape: study.Shape{Copies: 1, Together: true}})
	if err != nil {
		t.Fatal(err)
	}
	if e := startEvidence(t.Context(), false, false, false, group.Measured()).stop(t.Context()); e != nil {
		t.Errorf("without a wish there is %+v", e)
	}
	remote := []*instances.Instance{{Instance: elsewhere{group.Instances()[0].Instance}}}
	if e := startEvidence(t.Context(), true, false, false, remote).stop(t.Context()); e == nil {
		t.Error("an instance on another machine has no reason")
	}
}
