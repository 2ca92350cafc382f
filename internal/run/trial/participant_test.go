package trial

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/run/schedule"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
	"tare/internal/usage"
	"tare/internal/workload"
)

// alternating has a slot for each environment, with rounds.
func alternating(rounds int, environments ...string) schedule.Batch {
	var b schedule.Batch
	for n, name := range environments {
		s := slot(name, "", "block")
		s.Position, s.Rounds = n+1, rounds
		b.Slots = append(b.Slots, s)
	}
	return b
}

// rated drives with a rate that is higher by 1 in each sample of an instance.
func rated(change func(instance string, sample int, r *fakeenv.Result)) func(string, string) fakeenv.Result {
	var mu sync.Mutex // copies drive at the same time
	samples := map[string]int{}
	return func(instance, command string) fakeenv.Result {
		r := fakeenv.Result{}
		if command == "drive" {
			mu.Lock()
			defer mu.Unlock()
			samples[instance]++
			r.Stdout, r.After = fmt.Sprintf("rate %d\n", samples[instance]), time.Second
			if change != nil {
				change(instance, samples[instance], &r)
			}
		}
		return r
	}
}

func TestSamplesAlternateInTheOrderOfTheRounds(t *testing.T) {
	r, log, a := newRunner(t, webPack(), study.Level{})
	a.Script = rated(nil)
	r.sync = func() { log.Add("sync") }
	batch := alternating(5, "a", "b")
	r.AfterRound = func(number int, underWay []rundir.Trial) {
		if len(underWay) != 2 || len(underWay[0].Rounds) != number || len(underWay[1].Rounds) != number {
			t.Errorf("after round %d: %+v", number, underWay)
		}
	}
	trials, err := r.Run(t.Context(), batch)
	if err != nil || len(trials) != 2 {
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	want := []string{"start b1-a-1", "start b1-b-2", "b1-a-1: setup", "b1-b-2: setup", "sync"}
	for number := range 5 {
		for _, i := range batch.Round(number + 1) {
			want = append(want, []string{"b1-a-1", "b1-b-2"}[i]+": drive")
		}
	}
	got := log.Lines()
	slices.Sort(got[2:4]) // at the same time
	if !slices.Equal(got, append(want, "b1-a-1: teardown", "b1-b-2: teardown")) {
		t.Errorf("it ran %q", got)
	}
	for n, one := range trials {
		if one.Status != rundir.OK || len(one.Rounds) != 5 || one.Metrics["rate"] != 3 || one.Metrics["wall"] != 1 || one.GuestSeconds != 5 {
			t.Errorf("%s %s: %v in %g s, %d rounds", one.Status, one.Reason, one.Metrics, one.GuestSeconds, len(one.Rounds))
		}
		checkStolen(t, one)
		for k, round := range one.Rounds {
			if round.Number != k+1 || round.Metrics["rate"] != float64(k+1) || round.GuestSeconds != 1 || batch.Round(k + 1)[round.Position-1] != n {
				t.Errorf("round %d of %s is %+v", k+1, one.Environment, round)
			}
		}
		if one.Usage == nil || one.Pressure == nil || one.Missing[workload.CPUSeconds] == "" || one.Ended.IsZero() {
			t.Errorf("usage %v, pressure %v, missing %v", one.Usage, one.Pressure, one.Missing)
		}
	}
}

func TestEnvironmentsArePreparedAtTheSameTime(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("with one core, one environment after the other is prepared")
	}
	r, log, a := newRunner(t, countedPack(), study.Level{})
	start, request := time.Duration(0), 10*time.Microsecond
	works := working(&start, &request)
	inSetup := make(chan struct{}, 2)
	a.Script = func(instance, command string) fakeenv.Result {
		if command == "setup" {
			inSetup <- struct{}{}
			for began := time.Now(); len(inSetup) < 2; runtime.Gosched() {
				if time.Since(began) > time.Minute {
					t.Error("the other one is not prepared meanwhile")
					break
				}
			}
		}
		return works(instance, command)
	}
	if trials, err := r.Run(t.Context(), alternating(1, "a", "b")); err != nil || trials[0].Status != rundir.OK || trials[1].Status != rundir.OK {
		t.Fatalf("%v: %+v", err, trials)
	}
	if lines := log.Lines(); !strings.HasSuffix(lines[2], ": setup") || !strings.HasSuffix(lines[3], ": setup") {
		t.Errorf("the search for the amount begins before both are prepared: %q", lines)
	}
}

// checkStolen checks that each round of a trial has the time that was stolen, and that
// the trial says what it was read from.
func checkStolen(t *testing.T, one rundir.Trial) {
	t.Helper()
	unknown := func(r rundir.Round) bool { return r.StealSeconds == nil }
	if one.StealSource != usage.StealCounters && one.StealSource != usage.StealTicks || slices.ContainsFunc(one.Rounds, unknown) {
		t.Errorf("%s: time stolen by %q, rounds %+v", one.Environment, one.StealSource, one.Rounds)
	}
}

func TestNothingIsKnownToBeStolenFromAnotherMachine(t *testing.T) {
	m := newMeters(t.Context(), &participant{run: &Runner{plan: &study.Plan{}}, slot: schedule.Slot{Rounds: 1}, group: &instances.Group{}})
	defer m.sampling.Close()
	for _, remote := range []bool{false, true} {
		m.remote = remote
		m.begin()
		if took := m.end(t.Context()); (took.Steal.Missing != "") != remote {
			t.Errorf("on another machine: %t, %v was stolen", remote, took.Steal)
		}
	}
}

func TestOperationsAreSummedUpOverTheRounds(t *testing.T) {
	pack := webPack()
	pack.Operations = "rate"
	r, _, a := newRunner(t, pack, study.Level{})
	a.Script = rated(nil)
	trials, err := r.Run(t.Context(), alternating(4, "a"))
	if err != nil || trials[0].Metrics["rate"] != 1+2+3+4 || trials[0].Metrics["wall"] != 1 {
		t.Errorf("%v: %v", err, trials[0].Metrics)
	}
}

func TestInstancesOfABlockStayForItsNextWorkload(t *testing.T) {
	r, log, a := newRunner(t, webPack(), study.Level{})
	a.Script = rated(nil)
	for _, environments := range [][]string{{"a", "b"}, {"a"}, {"b", "a"}} {
		if _, err := r.Run(t.Context(), alternating(1, environments...)); err != nil {
			t.Fatal(err)
		}
	}
	next := alternating(1, "b")
	next.Slots[0].Block = 2
	if _, err := r.Run(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(log.Lines(), func(line string) bool { return strings.Contains(line, ":") })
	slices.Sort(got[2:4])
	if !slices.Equal(got, []string{"start b1-a-1", "start b1-b-2", "stop b1-a-1", "stop b1-b-2", "start b2-b-3"}) {
		t.Errorf("it ran %q", got)
	}
}

func TestASampleThatFailsFailsItsTrialAlone(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fakeenv.Result)
		reason string
	}{
		"the driver":   {func(r *fakeenv.Result) { r.Code = 3 }, "round 2: driver `drive`: exited with status 3"},
		"its output":   {func(r *fakeenv.Result) { r.Stdout = "none" }, "round 2: "},
		"the instance": {func(r *fakeenv.Result) { r.Dies = true }, "round 2: "},
	} {
		t.Run(name, func(t *testing.T) {
			r, log, a := newRunner(t, webPack(), study.Level{})
			a.Script = rated(func(instance string, sample int, r *fakeenv.Result) {
				if instance == "b1-a-1" && sample == 2 {
					c.change(r)
				}
			})
			trials, err := r.Run(t.Context(), alternating(4, "a", "b"))
			if err != nil {
				t.Fatal(err)
			}
			failed, other := trials[0], trials[1]
			if failed.Status != rundir.Failed || !strings.HasPrefix(failed.Reason, c.reason) || len(failed.Rounds) != 1 || failed.Metrics != nil {
				t.Errorf("%s %q, %d rounds, %v", failed.Status, failed.Reason, len(failed.Rounds), failed.Metrics)
			}
			if other.Status != rundir.OK || len(other.Rounds) != 4 {
				t.Errorf("the other is %s %q with %d rounds", other.Status, other.Reason, len(other.Rounds))
			}
			lost := slices.Contains(log.Lines(), "stop b1-a-1")
			if want := name == "the instance"; lost != want {
				t.Errorf("the instance was stopped: %t", lost)
			}
		})
	}
}

func TestRoundsEndWhenTheNextOneWouldBeTooLate(t *testing.T) {
	for _, c := range []struct {
		done         int
		took, within time.Duration
		want         bool
	}{
		{0, 0, time.Second, true},
		{1, time.Minute, 0, true},
		{1, time.Minute, 10 * time.Second, false},
		{4, 8 * time.Second, 10 * time.Second, true},
		{5, 10 * time.Second, 10 * time.Second, false},
	} {
		if got := another(c.done, c.took, c.within); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	r, _, a := newRunner(t, webPack(), study.Level{})
	a.Script = rated(nil)
	batch := alternating(5, "a", "b")
	batch.Why = "since it has"
	for i := range batch.Slots {
		batch.Slots[i].Within = time.Nanosecond
	}
	trials, err := r.Run(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range trials {
		if one.Status != rundir.OK || len(one.Rounds) != 1 || !(one.RoundsSeconds > 0) || one.RoundsReason != batch.Why {
			t.Errorf("%s: %d rounds in %g s, %q", one.Status, len(one.Rounds), one.RoundsSeconds, one.RoundsReason)
		}
	}
}

func TestWhatDoesNotWorkLeavesTheOthersOfItsBatch(t *testing.T) {
	r, _, a := newRunner(t, webPack(), study.Level{})
	a.Script = rated(nil)
	a.Fails = func(instance string) error {
		if strings.Contains(instance, "-b-") {
			return errors.New("broken")
		}
		return nil
	}
	trials, err := r.Run(t.Context(), alternating(2, "a", "b"))
	if err != nil || trials[0].Status != rundir.OK || trials[1].Status != rundir.Failed || trials[1].Reason != "start of b: broken" {
		t.Errorf("%v: %+v", err, trials)
	}
	r.plan.Workloads[0].Pack.KnownLimits = map[string]string{"other": "no clock"}
	trials, err = r.Run(t.Context(), alternating(2, "b", "a"))
	if err != nil || trials[0].Status != rundir.Skipped || trials[0].Reason != "known limit: no clock" || trials[1].Status != rundir.OK {
		t.Errorf("%v: %+v", err, trials)
	}
}

func TestAFrozenInstanceWorksInItsSamplesAlone(t *testing.T) {
	pack := webPack()
	pack.Setup, pack.Teardown = nil, nil
	r, log, a := newRunner(t, pack, study.Level{})
	r.plan.Design.Waiting = study.Frozen
	a.Script, a.Freezes = rated(nil), true
	batch := alternating(2, "a", "b")
	if _, err := r.Run(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	want := []string{"start b1-a-1", "start b1-b-2", "freeze b1-a-1", "freeze b1-b-2"}
	for number := range 2 {
		for _, i := range batch.Round(number + 1) {
			name := []string{"b1-a-1", "b1-b-2"}[i]
			want = append(want, "thaw "+name, name+": drive", "freeze "+name)
		}
	}
	if got := log.Lines(); !slices.Equal(got, append(want, "thaw b1-a-1", "thaw b1-b-2")) {
		t.Errorf("it ran %q", got)
	}
}

// While one environment is prepared or gives a sample, the neighbours of the others are
// paused, also of one that failed.
func TestNeighboursWorkInTheSamplesOfTheirEnvironmentAlone(t *testing.T) {
	r, log, a := newRunner(t, webPack(), study.Level{})
	noise := webPack()
	noise.Setup, noise.Driver = nil, &workload.Step{Run: "noise"}
	r.plan.Workloads[0].Neighbour, r.plan.Workloads[0].Levels[0].Neighbours = &noise, 2
	if err := r.plan.ExpandShapes(); err != nil {
		t.Fatal(err)
	}
	drives := rated(func(instance string, sample int, r *fakeenv.Result) {
		if instanceOf(instance) == "b" && sample == 2 {
			r.Code = 3
		}
	})
	a.Script = func(instance, command string) fakeenv.Result {
		if command == "noise" {
			return fakeenv.Result{Runs: true}
		}
		return drives(instance, command)
	}
	trials, err := r.Run(t.Context(), alternating(4, "a", "b"))
	if err != nil || len(trials[0].Rounds) != 4 || len(trials[1].Rounds) != 1 {
		t.Fatalf("%v: %+v", err, trials)
	}
	working, samples := map[string]int{}, 0 // neighbours, by environment
	for _, line := range log.Lines() {
		of := instanceOf(line)
		switch _, what, _ := strings.Cut(line, ": "); what {
		case "noise", "SIGCONT noise":
			working[of]++
		case "SIGSTOP noise":
			working[of]--
		case "setup", "drive":
			samples++
			if other := map[string]string{"a": "b", "b": "a"}[of]; working[of] != 2 || working[other] != 0 {
				t.Errorf("%s: with %v neighbours", line, working)
			}
		}
	}
	if samples != 2+4+2 {
		t.Errorf("it ran %q", log.Lines())
	}
}

func TestANoteSaysOnceThatAnInstanceCannotBeFrozen(t *testing.T) {
	r, _, a := newRunner(t, webPack(), study.Level{})
	r.plan.Design.Waiting = study.Frozen
	a.Script = rated(nil)
	trials, err := r.Run(t.Context(), alternating(3, "a"))
	if err != nil || !slices.Equal(trials[0].Warnings, []string{"an instance waits idle between its samples and is not frozen: no freezer: unsupported operation"}) {
		t.Errorf("%v: %q", err, trials[0].Warnings)
	}
}

func TestAnInterruptedBatchLeavesNothing(t *testing.T) {
	r, log, a := newRunner(t, webPack(), study.Level{})
	r.plan.Design.Waiting = study.Frozen
	ctx, cancel := context.WithCancel(t.Context())
	kept := 0
	r.KeepReadings = func(rundir.Trial, []rundir.InstanceSeries) (*rundir.ReadingsFile, error) { kept++; return nil, nil }
	a.Freezes = true
	a.Script = rated(func(_ string, sample int, r *fakeenv.Result) {
		if sample == 2 {
			cancel()
			*r = fakeenv.Result{Runs: true}
		}
	})
	trials, err := r.Run(ctx, alternating(4, "a", "b"))
	if !errors.Is(err, context.Canceled) || trials != nil || kept > 0 {
		t.Errorf("%d trials, %d readings, %v", len(trials), kept, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	lines := log.Lines()
	for _, name := range []string{"b1-a-1", "b1-b-2"} {
		of := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.Contains(line, name) })
		thaw, teardown, stop := slices.Index(of[len(of)-3:], "thaw "+name), slices.Index(of, name+": teardown"), slices.Index(of, "stop "+name)
		if thaw != 0 || teardown != len(of)-2 || stop != len(of)-1 {
			t.Errorf("%q", of)
		}
	}
}

func TestEachEnvironmentGetsTheAmountForTheLengthOfASample(t *testing.T) {
	pack := webPack()
	pack.Parameters = map[string]workload.Parameter{"seconds": {Default: "1.0", Unit: "s"}, "requests": {Default: "0"}}
	pack.Driver = &workload.Step{Run: "drive ${requests}"}
	pack.Length = &workload.Length{Time: "seconds", Sample: 100 * time.Millisecond, Amount: "requests", Start: 1000}
	r, _, a := newRunner(t, pack, study.Level{})
	a.Script = func(instance, command string) (res fakeenv.Result) {
		var n int
		if _, err := fmt.Sscanf(command, "drive %d", &n); err == nil {
			each := map[bool]time.Duration{true: 10 * time.Microsecond, false: 50 * time.Microsecond}[strings.Contains(instance, "-a-")]
			res.Stdout, res.After = "rate 5\n", time.Duration(n)*each
		}
		return res
	}
	trials, err := r.Run(t.Context(), alternating(3, "a", "b"))
	if err != nil || !slices.Equal(trials[0].Amounts, []int64{10000}) || !slices.Equal(trials[1].Amounts, []int64{2000}) {
		t.Fatalf("the amounts are %v and %v, %v", trials[0].Amounts, trials[1].Amounts, err)
	}
	for _, one := range trials {
		for _, round := range one.Rounds {
			if round.GuestSeconds != .1 {
				t.Errorf("a sample of %s took %g s", one.Environment, round.GuestSeconds)
			}
		}
	}
	one, err := single(t.Context(), r, slot("a", "", "block"))
	if err != nil || !slices.Equal(one.Amounts, []int64{100000}) || one.GuestSeconds != 1 {
		t.Errorf("one sample: %v of %g s, %v", one.Amounts, one.GuestSeconds, err)
	}
}

// servedPack has a server at its address.
func servedPack() workload.Pack {
	pack := webPack()
	pack.Setup, pack.Teardown = nil, nil
	pack.Servers = []workload.Server{{Step: workload.Step{Run: "serve ${address.server}", Role: "server"}}}
	pack.Driver = &workload.Step{Run: "drive ${address.server}"}
	return pack
}

// serving has servers that run until they are stopped.
func serving(_, command string) fakeenv.Result {
	if strings.HasPrefix(command, "serve") {
		return fakeenv.Result{Runs: true}
	}
	return fakeenv.Result{Stdout: "rate 7\n", After: time.Second}
}

func TestServersOnOneLoopbackListenAtDifferentAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		address, baseline string
		machines          []string // of another machine, by environment
		want              []string // of the servers, by environment
	}{
		"on one loopback":                  {"127.0.0.1", "a", nil, []string{"127.0.0.1", "127.0.0.2"}},
		"the baseline keeps the address":   {"127.0.0.1", "b", nil, []string{"127.0.0.2", "127.0.0.1"}},
		"on another machine":               {"192.0.2.1", "a", []string{"192.0.2.1", "192.0.2.1"}, []string{"127.0.0.1", "127.0.0.2"}},
		"on two other machines":            {"192.0.2.1", "a", []string{"192.0.2.1", "192.0.2.2"}, []string{"127.0.0.1", "127.0.0.1"}},
		"with network stacks of their own": {"10.0.0.2", "a", nil, []string{"127.0.0.1", "127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, log, a := newRunner(t, servedPack(), study.Level{})
			r.plan.Baseline = c.baseline
			if c.machines != nil {
				a.Loopback = func(name string) string { return c.machines[strings.Index("ab", strings.Split(name, "-")[1])] }
			}
			a.Script, a.Address = serving, c.address
			for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
				trials, err := r.Run(t.Context(), alternating(1, order...))
				if err != nil || trials[0].Status != rundir.OK || trials[1].Status != rundir.OK {
					t.Fatalf("%v: %+v", err, trials)
				}
			}
			for n, name := range []string{"b1-a-1", "b1-b-2"} {
				for _, command := range []string{"serve", "drive"} {
					line := fmt.Sprintf("%s: %s %s", name, command, c.want[n])
					if got := len(slices.DeleteFunc(log.Lines(), func(other string) bool { return other != line })); got != 2 {
						t.Errorf("%q is there %d times in %q", line, got, log.Lines())
					}
				}
			}
		})
	}
}

func TestATrialOfItsOwnUsesTheLoopbacksFirstAddress(t *testing.T) {
	r, log, a := newRunner(t, servedPack(), study.Level{})
	r.plan.Baseline = "a"
	a.Script, a.Address = serving, "127.0.0.1"
	if one, err := single(t.Context(), r, slot("b", "", "block")); err != nil || one.Status != rundir.OK {
		t.Fatalf("%v: %s", err, one.Reason)
	}
	if trials, err := r.Run(t.Context(), alternating(1, "b")); err != nil || trials[0].Status != rundir.OK {
		t.Fatalf("%v: %+v", err, trials)
	}
	if got := strings.Join(log.Lines(), ", "); strings.Contains(got, "127.0.0.2") {
		t.Error(got)
	}
}

func TestTheFailureOfAServerWithAFixedAddressNamesTheRemedy(t *testing.T) {
	pack := servedPack()
	pack.Servers[0].Run = "serve as configured"
	r, log, a := newRunner(t, pack, study.Level{})
	a.Address = "127.0.0.1"
	a.Script = func(instance, command string) fakeenv.Result {
		if strings.HasPrefix(command, "drive") && instance == "b1-b-2" {
			return fakeenv.Result{Code: 1, Stdout: "bind: Address already in use"}
		}
		return serving(instance, command)
	}
	trials, err := r.Run(t.Context(), alternating(1, "a", "b"))
	if err != nil || trials[0].Status != rundir.OK || trials[1].Status != rundir.Failed {
		t.Fatalf("%v: %+v", err, trials)
	}
	const want = "environment b shares the network of its machine with a, and their servers run at the same time, at an address that tare does not choose: set order: interleaved, or fresh: trial for the workload"
	if !strings.HasSuffix(trials[1].Reason, want) {
		t.Error(trials[1].Reason)
	}
	if lines := log.Lines(); !strings.HasPrefix(lines[2], "b1-a-1: serve") || !strings.HasPrefix(lines[3], "b1-b-2: serve") {
		t.Errorf("the first environment has the address: %q", lines)
	}
}

func TestPercentilesComeFromAllSamplesTogether(t *testing.T) {
	percent := func(p float64) *float64 { return &p }
	for copies, missing := range map[int]string{
		1: "the driver prints percentiles, which do not add up over 3 samples",
		2: "the driver prints percentiles, which do not add up over 3 samples of 2 copies",
	} {
		pack := webPack()
		const took = `took (?P<value>\d+)`
		pack.Parser.Regex = append(pack.Parser.Regex, `worst (?P<worst>\d+)`, `p99 (?P<p99>\d+)`)
		pack.Metrics = append(pack.Metrics, workload.Metric{Name: "median", Percentile: percent(50), Of: took},
			workload.Metric{Name: "worst", Percentile: percent(100)}, workload.Metric{Name: "p99", Percentile: percent(99)})
		r, _, a := newRunner(t, pack, study.Level{Instances: copies})
		a.Script = rated(func(_ string, sample int, r *fakeenv.Result) {
			r.Stdout += []string{"took 1 took 1 took 2 worst 2 p99 2", "took 9 worst 9 p99 9", "took 4 took 5 took 6 worst 6 p99 6"}[sample-1]
		})
		trials, err := r.Run(t.Context(), alternating(3, "a"))
		if err != nil || trials[0].Status != rundir.OK {
			t.Fatalf("%v: %s", err, trials[0].Reason)
		}
		one := trials[0]
		if one.Metrics["median"] != 4 || one.Metrics["worst"] != 9 || one.Missing["p99"] != missing {
			t.Errorf("%d copies: %v, missing %v", copies, one.Metrics, one.Missing)
		}
		if _, there := one.Metrics["p99"]; there {
			t.Errorf("%d copies: an average of percentiles: %v", copies, one.Metrics)
		}
		for _, c := range one.Copies {
			if c.Metrics["median"] != 4 || c.Metrics["worst"] != 9 || !strings.Contains(c.Missing["p99"], "over 3 samples") {
				t.Errorf("a copy has %v, missing %v", c.Metrics, c.Missing)
			}
		}
		for _, round := range one.Rounds {
			if len(round.Metrics) != 2 || len(round.Missing) != 1 {
				t.Errorf("%d copies: a round has %v, missing %v", copies, round.Metrics, round.Missing)
			}
		}
		single, err := single(t.Context(), r, slot("b", "", "block"))
		if copies == 1 && (err != nil || single.Metrics["median"] != 1 || single.Metrics["p99"] != 2) {
			t.Errorf("one sample has %v, missing %v, %v", single.Metrics, single.Missing, err)
		}
		if copies == 2 && (single.Metrics["median"] != 1 || single.Metrics["worst"] != 2 || !strings.HasSuffix(single.Missing["p99"], "over 2 copies")) {
			t.Errorf("one sample of two copies has %v, missing %v, %v", single.Metrics, single.Missing, err)
		}
	}
}
