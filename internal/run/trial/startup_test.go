package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/environment"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
	"tare/internal/workload"
)

// newStarts makes trials of starts in the environments a and b. The instances also
// serve the workload db.
func newStarts(t *testing.T, level study.Level) (*Runner, *fakeenv.Log, *fakeenv.Environment) {
	t.Helper()
	pack := workload.Pack{Name: "web", Startup: true, Metrics: []workload.Metric{{Name: workload.StartSeconds}, {Name: "agent"}}}
	r, log, a := newRunner(t, pack, level)
	a.Phases = []environment.Phase{{Name: environment.PreparePhase, Duration: time.Hour}, {Name: "agent", Duration: 2 * time.Second}}
	r.plan.Workloads = append(r.plan.Workloads, study.Workload{Name: "db", Pack: webPack(), Levels: []study.Level{level}, Fresh: "block"})
	if err := r.plan.ExpandShapes(); err != nil {
		t.Fatal(err)
	}
	return r, log, a
}

// starts has slots of environments with these rounds.
func starts(fresh string, rounds ...int) schedule.Batch {
	b := alternating(0, "a", "b")
	for i := range b.Slots {
		b.Slots[i].Rounds, b.Slots[i].Fresh = rounds[i], fresh
	}
	return b
}

// instanceOf is the environment of an instance: b1-a-7.
func instanceOf(line string) string { return strings.Split(line, "-")[1] }

func TestStartsAlternateOneInstanceAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		fresh  string
		rounds []int
		stay   int // that are not stopped
	}{
		"the last ones serve the block":       {"block", []int{4, 4}, 2},
		"none serves another trial":           {"trial", []int{4, 4}, 0},
		"one environment starts once a block": {"trial", []int{4, 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, log, a := newStarts(t, study.Level{})
			a.Notes = []string{"a note"}
			batch := starts(c.fresh, c.rounds...)
			trials, err := r.Run(t.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for number := 1; number <= 4; number++ {
				for _, i := range batch.Round(number) {
					want = append(want, "start "+[]string{"a", "b"}[i])
					if c.stay == 0 || number < 4 {
						want = append(want, "stop "+[]string{"a", "b"}[i])
					}
				}
			}
			for _, line := range log.Lines() {
				got = append(got, strings.Fields(line)[0]+" "+instanceOf(line))
			}
			if !slices.Equal(got, want) {
				t.Errorf("it ran %q, want %q", got, want)
			}
			for i, one := range trials {
				n := c.rounds[i]
				if one.Status != rundir.OK || len(one.Rounds) != n || one.Metrics[workload.StartSeconds] != 2 || one.HostSeconds != 2*float64(n) || one.Usage == nil {
					t.Errorf("%s %s: %v in %g s, %d rounds, usage %v", one.Status, one.Reason, one.Metrics, one.HostSeconds, len(one.Rounds), one.Usage)
				}
				if !slices.Equal(one.Warnings, a.Notes) || len(one.Phases) != 2 || n > 1 && (len(one.Instances) != n || one.Instances[0] != one.Instance) {
					t.Errorf("warnings %q, phases %v, instances %v", one.Warnings, one.Phases, one.Instances)
				}
				checkStolen(t, one)
				for k, round := range one.Rounds {
					if round.Number != 4-n+k+1 || batch.Round(round.Number)[round.Position-1] != i || round.Metrics["agent"] != 2 || round.HostSeconds != 2 {
						t.Errorf("round %d of %s is %+v", k+1, one.Environment, round)
					}
				}
			}
		})
	}
}

func TestTheLastInstancesOfAStartServeTheNextWorkload(t *testing.T) {
	r, log, a := newStarts(t, study.Level{})
	r.plan.Design.Waiting, a.Freezes = study.Frozen, true
	if _, err := r.Run(t.Context(), starts("block", 2, 2)); err != nil {
		t.Fatal(err)
	}
	before := len(log.Lines())
	next := alternating(1, "a", "b")
	for i := range next.Slots {
		next.Slots[i].Workload = "db"
	}
	trials, err := r.Run(t.Context(), next)
	if err != nil || trials[0].Status != rundir.OK || trials[1].Status != rundir.OK {
		t.Fatalf("%v: %+v", err, trials)
	}
	if lines := log.Lines()[before:]; slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "start") || strings.HasPrefix(line, "stop") }) {
		t.Errorf("it ran %q", lines)
	}
	// Starts of the next block are measured without them.
	again := starts("block", 1, 1)
	for i := range again.Slots {
		again.Slots[i].Block = 2
	}
	before = len(log.Lines())
	if _, err := r.Run(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	lines := log.Lines()[before:]
	slices.Sort(lines[:2])
	if !strings.HasPrefix(lines[0], "stop b1-a-") || !strings.HasPrefix(lines[1], "stop b1-b-") || !strings.HasPrefix(lines[2], "start b2-") {
		t.Errorf("it ran %q", lines)
	}
}

// lives is a pack that measures a whole life.
func lives(r *Runner) {
	r.plan.Workloads[0].Pack.Metrics = []workload.Metric{{Name: "start"}, {Name: "job"}, {Name: "stop"}, {Name: "remove"}, {Name: "life"}}
}

func TestTheLifeOfAShortJobIsItsStartItsRunAndItsStop(t *testing.T) {
	for name, make := range map[string]func(r *Runner) ([]rundir.Trial, error){
		"in rounds": func(r *Runner) ([]rundir.Trial, error) { return r.Run(t.Context(), starts("block", 3, 3)) },
		"alone": func(r *Runner) ([]rundir.Trial, error) {
			one, err := single(t.Context(), r, slot("a", "", "block"))
			return []rundir.Trial{one}, err
		},
	} {
		r, log, _ := newStarts(t, study.Level{})
		lives(r)
		trials, err := make(r)
		if err != nil || trials[0].Status != rundir.OK {
			t.Fatalf("%s: %v: %s", name, err, trials[0].Reason)
		}
		m := trials[0].Metrics
		if rounds := trials[0].Rounds; len(rounds) > 0 { // a median of sums is none of medians
			m = rounds[0].Metrics
			if last := rounds[2]; last.Metrics["job"] <= 0 || !strings.Contains(last.Missing["life"], "used further") {
				t.Errorf("the instances that stay: %+v", last)
			}
		}
		if m["start"] != 2 || m["job"] <= 0 || m["stop"] <= 0 || m["remove"] <= 0 || math.Abs(m["life"]-m["start"]-m["job"]-m["stop"]-m["remove"]) > 1e-9 || len(trials[0].Missing) > 0 {
			t.Errorf("%s: %v, missing %v", name, m, trials[0].Missing)
		}
		if !slices.Contains(log.Lines(), "stop b1-a-1") {
			t.Errorf("%s: it ran %q", name, log.Lines())
		}
	}
}

func TestABlockOfOneStartMeasuresItsStopToo(t *testing.T) {
	r, log, _ := newStarts(t, study.Level{})
	lives(r)
	trials, err := r.Run(t.Context(), starts("block", 1, 1))
	if err != nil || trials[0].Metrics["stop"] <= 0 || !slices.Contains(log.Lines(), "stop b1-a-1") {
		t.Errorf("%v: %v after %q", err, trials[0].Metrics, log.Lines())
	}
}

func TestAnInstanceWithoutTheJobHasNoLife(t *testing.T) {
	r, _, a := newStarts(t, study.Level{})
	lives(r)
	a.Script = func(string, string) fakeenv.Result { return fakeenv.Result{Code: 3} }
	trials, err := r.Run(t.Context(), starts("trial", 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if one := trials[0]; one.Metrics["stop"] <= 0 || one.Missing["life"] != one.Missing["job"] || !strings.Contains(one.Missing["life"], "true exited with status 3") {
		t.Errorf("%s %v, missing %v", one.Status, one.Metrics, one.Missing)
	}
}

func TestSeveralInstancesOfARoundAreTheTrialsCopies(t *testing.T) {
	r, _, _ := newStarts(t, study.Level{Instances: 2})
	trials, err := r.Run(t.Context(), starts("trial", 2, 2))
	if err != nil || trials[0].Status != rundir.OK {
		t.Fatalf("%v: %s", err, trials[0].Reason)
	}
	one := trials[0]
	if len(one.Copies) != 2 || one.Copies[1].Metrics["agent"] != 2 || len(one.Instances) != 4 || len(one.Series[instancesUp]) != 2 || one.Phases != nil {
		t.Errorf("copies %v in %v, up %v, phases %v", one.Copies, one.Instances, one.Series, one.Phases)
	}
}

// newCold makes trials of a driver whose time begins with the start of its instance.
func newCold(t *testing.T) (*Runner, *fakeenv.Log, *fakeenv.Environment) {
	t.Helper()
	pack := webPack()
	pack.Cold = true
	r, log, a := newRunner(t, pack, study.Level{})
	a.Phases = []environment.Phase{{Name: environment.PreparePhase, Duration: time.Hour}, {Name: "agent", Duration: 2 * time.Second}}
	return r, log, a
}

func TestColdSamplesAlternateInFreshInstances(t *testing.T) {
	r, log, a := newCold(t)
	samples := 0
	a.Script = func(instance, command string) fakeenv.Result {
		if command != "drive" {
			return fakeenv.Result{}
		}
		if instanceOf(instance) == "a" {
			samples++
		}
		return fakeenv.Result{Stdout: fmt.Sprintf("rate %d\n", samples), After: time.Duration(samples) * time.Second}
	}
	directory := t.TempDir()
	r.Keep = (&rundir.Writer{Run: rundir.Run{Directory: directory}}).Keep
	batch := starts("trial", 3, 3)
	trials, err := r.Run(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for number := 1; number <= 3; number++ {
		for n, i := range batch.Round(number) {
			name := fmt.Sprintf("b1-%s-%d", []string{"a", "b"}[i], 2*(number-1)+n+1)
			want = append(want, "start "+name, name+": setup", name+": drive", name+": teardown", "stop "+name)
		}
	}
	if got := log.Lines(); !slices.Equal(got, want) {
		t.Errorf("it ran %q, want %q", got, want)
	}
	one := trials[0]
	if one.Status != rundir.OK || len(one.Rounds) != 3 || one.Metrics["wall"] != 2+2 || one.Metrics["rate"] != 2 || one.GuestSeconds != 1+2+3 || !(one.HostSeconds > 0) || one.Usage == nil {
		t.Errorf("%s %s: %v in %g and %g s, rounds %+v", one.Status, one.Reason, one.Metrics, one.HostSeconds, one.GuestSeconds, one.Rounds)
	}
	var outputs []string
	for _, raw := range one.Raw {
		outputs = append(outputs, raw.Name)
	}
	if !slices.Equal(outputs, []string{"driver.stdout", "start2.driver.stdout", "start3.driver.stdout"}) || len(one.Instances) != 3 {
		t.Errorf("outputs %q of %q", outputs, one.Instances)
	}
}

func TestAColdSampleThatFailsFailsItsTrialAlone(t *testing.T) {
	r, log, a := newCold(t)
	a.Script = rated(func(instance string, _ int, r *fakeenv.Result) {
		if instance == "b1-b-3" || instance == "b1-b-4" {
			r.Code = 3
		}
	})
	trials, err := r.Run(t.Context(), starts("trial", 4, 4))
	if err != nil || trials[0].Status != rundir.OK || len(trials[0].Rounds) != 4 {
		t.Fatalf("%v: %+v", err, trials[0])
	}
	if b := trials[1]; b.Status != rundir.Failed || !strings.HasPrefix(b.Reason, "round 2: driver `drive`: exited with status 3") || len(b.Rounds) != 1 {
		t.Errorf("%s %q, rounds %+v", b.Status, b.Reason, b.Rounds)
	}
	if lines := log.Lines(); !strings.HasPrefix(lines[len(lines)-1], "stop") || len(log.Lines()) != 6*5 {
		t.Errorf("it ran %q", lines)
	}
}

func TestAStartThatFailsFailsItsTrialAlone(t *testing.T) {
	r, _, a := newStarts(t, study.Level{})
	seen := 0
	a.Fails = func(instance string) error {
		if strings.Contains(instance, "-b-") {
			if seen++; seen == 2 {
				return errors.New("broken")
			}
		}
		return nil
	}
	trials, err := r.Run(t.Context(), starts("trial", 4, 4))
	if err != nil || trials[0].Status != rundir.OK || len(trials[0].Rounds) != 4 {
		t.Fatalf("%v: %+v", err, trials[0])
	}
	if b := trials[1]; b.Status != rundir.Failed || b.Reason != "round 2: start of b: broken" || len(b.Rounds) != 1 || b.Metrics != nil || seen != 2 {
		t.Errorf("%s %q after %d starts: %+v", b.Status, b.Reason, seen, b)
	}
}

func TestInterruptedStartsLeaveNothing(t *testing.T) {
	for at := 1; at <= 8; at++ {
		r, log, a := newStarts(t, study.Level{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		a.Fails = func(string) error {
			if n++; n == at {
				cancel()
			}
			return ctx.Err()
		}
		if trials, err := r.Run(ctx, starts("block", 4, 4)); !errors.Is(err, context.Canceled) || trials != nil {
			t.Errorf("%d trials, %v", len(trials), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		running := map[string]bool{}
		for _, line := range log.Lines() {
			what := strings.Fields(line)
			running[what[1]] = what[0] == "start"
		}
		for name, runs := range running {
			if runs {
				t.Errorf("interrupted in start %d: %s is left: %q", at, name, log.Lines())
			}
		}
		if n != at {
			t.Errorf("interrupted in start %d, it went on to %d", at, n)
		}
	}
}

// The time under way is that of the moments that lie in a span, each counted
// once, whatever the spans have in common.
func TestTheTimeUnderWayCountsEachMomentOnce(t *testing.T) {
	zero := time.Unix(0, 0)
	at := func(n int) time.Time { return zero.Add(time.Duration(n)) }
	rapid.Check(t, func(t *rapid.T) {
		covered := map[int]bool{}
		until := rapid.IntRange(0, 30).Draw(t, "until")
		spans := make([]startSpan, rapid.IntRange(1, 8).Draw(t, "spans"))
		for i := range spans {
			from := rapid.IntRange(0, 25).Draw(t, "from")
			to := from + rapid.IntRange(0, 10).Draw(t, "length")
			spans[i] = startSpan{at(from), at(to)}
			for n := from; n < min(to, until); n++ {
				covered[n] = true
			}
		}
		slices.SortFunc(spans, func(a, b startSpan) int { return a.to.Compare(b.to) })
		if got := underWay(spans, at(until)); got != time.Duration(len(covered)) {
			t.Fatalf("%d, not %d, for %v until %d", got, len(covered), spans, until)
		}
	})
}
