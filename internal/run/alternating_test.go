package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tare/internal/host/cleanup"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

const (
	threeBare      = "{a: {kind: bare}, b: {kind: bare}, c: {kind: bare}}"
	alternating    = "{order: alternating, rounds: 3, blocks: 2}"
	levelsOfEcho   = "[{use: ./echo.yaml, say: [1, 2]}]"
	killedRunTests = "TARE_TEST_KILLED_RUN" // the home of the run that the test process kills itself in
)

// orderOf are the trials with what decides about their order.
func orderOf(r *Result) (list []string) {
	for _, t := range r.Run.Trials {
		list = append(list, fmt.Sprint(t.Block, t.Position, t.Environment, t.Level, positions(t)))
	}
	return list
}

// positions of a trial in its rounds, which follow from their orders.
func positions(t rundir.Trial) (list []int) {
	for _, round := range t.Rounds {
		list = append(list, round.Position)
	}
	return list
}

func TestEnvironmentsAlternateWithinABlock(t *testing.T) {
	var batches, blocks, tried int
	var estimates []Event
	starts := bareStarts.Load()
	r := execute(t, t.Context(), Options{Plan: plan(t, levelsOfEcho, alternating, threeBare), Events: func(e Event) {
		switch e.Kind {
		case Block:
			blocks++
		case Tried:
			tried++
		case Estimates:
			estimates = append(estimates, e)
		case Trying:
			if batches++; len(e.Batch) != 3 || e.Batch[0] != *e.Slot || e.Slot.Rounds != 3 {
				t.Errorf("a batch is %+v", e.Batch)
			}
		}
	}})
	if blocks != 2 || batches != 4 || tried != 12 || len(r.Run.Trials) != 12 || r.Failed != 0 {
		t.Fatalf("%d blocks, %d batches, %d trials tried, %d recorded, %d failed", blocks, batches, tried, len(r.Run.Trials), r.Failed)
	}
	if len(estimates) == 0 || estimates[0].Round != 1 || estimates[0].Estimates[0].Rounds != 1 || estimates[0].Estimates[0].Estimate != 0 {
		t.Errorf("the first estimates are not of the first round: %+v", estimates)
	}
	if last := estimates[len(estimates)-1]; last.Round != 0 || last.Estimates[0].N != 2 {
		t.Errorf("the last estimates are not of all blocks: %+v", last)
	}
	if n := bareStarts.Load() - starts; n != 6 {
		t.Errorf("%d starts of three environments in two blocks", n)
	}
	for at := 0; at < 12; at += 3 {
		for round := range 3 {
			var order []int
			for _, trial := range r.Run.Trials[at : at+3] {
				if len(trial.Rounds) != 3 || trial.Rounds[round].Number != round+1 || trial.Metrics["rate"] != trial.Rounds[round].Metrics["rate"] {
					t.Fatalf("a trial has rounds %+v and metrics %v", trial.Rounds, trial.Metrics)
				}
				order = append(order, trial.Rounds[round].Position)
			}
			if slices.Sort(order); !slices.Equal(order, []int{1, 2, 3}) {
				t.Errorf("positions of a round are %v", order)
			}
		}
	}
}

// Wherever a run is cut, its batches are whole, and the rest is made as it would
// have been.
func TestAnInterruptedBatchIsMadeAgainWhole(t *testing.T) {
	home, p := t.TempDir(), plan(t, levelsOfEcho, alternating, threeBare)
	whole := execute(t, t.Context(), Options{Home: home, Plan: p})
	for _, started := range []int{1, 2, 5, 9, 12} { // trials that were under way or made
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		cut := execute(t, ctx, Options{Home: home, Plan: p, Watch: func(string, subject.Cell) func(usage.Reading) {
			if n++; n == started {
				cancel()
			}
			return nil
		}})
		cancel()
		kept := (started - 1) / 3 * 3
		if !cut.Interrupted || len(cut.Run.Trials) != kept {
			t.Fatalf("interrupted in trial %d: %t, %d trials are kept", started, cut.Interrupted, len(cut.Run.Trials))
		}
		resumed := execute(t, t.Context(), Options{Home: home, Directory: cut.Directory})
		if !slices.Equal(orderOf(resumed), orderOf(whole)) {
			t.Errorf("resumed in trial %d it ran\n%v\nthe whole run\n%v", started, orderOf(resumed), orderOf(whole))
		}
		for i, trial := range resumed.Run.Trials {
			other := i >= kept && i/6 == kept/6 && kept%6 > 0 // the block has trials of the earlier session
			if warned := strings.Contains(fmt.Sprint(trial.Warnings), "interrupted within this block"); warned != other {
				t.Errorf("interrupted in trial %d: block %d, position %d has the warnings %v", started, trial.Block, trial.Position, trial.Warnings)
			}
		}
	}
}

// Of a batch that a full disk ends nothing is kept, and the run can go on.
func TestADiskThatIsFullInTheFirstBatchEndsARunThatCanGoOn(t *testing.T) {
	home, console := t.TempDir(), ""
	_, err := Execute(t.Context(), Options{Home: home, Plan: plan(t, levelsOfEcho, alternating, threeBare), Events: func(e Event) {
		if e.Kind == Opened { // no console can be opened
			console = filepath.Join(e.Directory, "raw", "console")
			if err := errors.Join(os.MkdirAll(filepath.Dir(console), 0o755), os.WriteFile(console, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}})
	directory := filepath.Dir(filepath.Dir(console))
	if want := "0 trials are kept in " + directory + "; fix the cause, then continue with `tare run --resume " + directory + "`"; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %q", err, want)
	}
	if err := os.Remove(console); err != nil {
		t.Fatal(err)
	}
	if resumed := execute(t, t.Context(), Options{Home: home, Directory: directory}); len(resumed.Run.Trials) != 12 || resumed.Failed != 0 {
		t.Errorf("%d trials, %d failed", len(resumed.Run.Trials), resumed.Failed)
	}
}

// A line of a batch can be torn, though all are one write: then the rest of the
// batch is made alone, and says so.
func TestTheRestOfATornBatchIsMadeWithAWarning(t *testing.T) {
	home := t.TempDir()
	r := execute(t, t.Context(), Options{Home: home, Plan: plan(t, "[{use: ./echo.yaml}]", "{order: alternating, rounds: 3, blocks: 1}", threeBare)})
	markOver(t, r.Directory, false)
	journal := filepath.Join(r.Directory, "journal.jsonl")
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if err := os.WriteFile(journal, append(lines[0], lines[1][:20]...), 0o644); err != nil {
		t.Fatal(err)
	}
	var batch []string
	resumed := execute(t, t.Context(), Options{Home: home, Directory: r.Directory, Events: func(e Event) {
		for _, slot := range e.Batch {
			batch = append(batch, slot.Environment)
		}
	}})
	if len(batch) != 2 || len(resumed.Run.Trials) != 3 || resumed.Failed != 0 {
		t.Fatalf("resumed with %v, %d trials", batch, len(resumed.Run.Trials))
	}
	for i, trial := range resumed.Run.Trials {
		if warned := strings.Contains(fmt.Sprint(trial.Warnings), "killed while it wrote this block"); warned != (i > 0) || len(trial.Rounds) != 3 {
			t.Errorf("trial %d has %d rounds and the warnings %v", i, len(trial.Rounds), trial.Warnings)
		}
	}
}

// The test process kills itself in the second round of the second block, while it
// starts an instance.
func TestARunThatIsKilledWithinItsStartsResumes(t *testing.T) {
	testenv.NeedsAgent(t)
	const workloads, environments = "[{use: startup}, {use: ./echo.yaml}]", "{a: {kind: bare, kills: 7}, b: {kind: bare, kills: 7}, c: {kind: bare, kills: 7}}"
	options := func(home string) Options {
		return Options{Home: home, Directory: filepath.Join(home, "run"), Plan: plan(t, workloads, alternating, environments)}
	}
	if home := os.Getenv(killedRunTests); home != "" {
		_, err := Execute(t.Context(), options(home))
		t.Fatal("it was not killed:", err)
	}
	home := t.TempDir()
	runKilled(t, home)
	killed, err := rundir.Open(filepath.Join(home, "run"))
	if err != nil || len(killed.Trials) != 6 {
		t.Fatalf("%d trials are kept, %v", len(killed.Trials), err)
	}
	resumed := execute(t, t.Context(), Options{Home: home, Directory: filepath.Join(home, "run")})
	whole := execute(t, t.Context(), options(t.TempDir()))
	if !slices.Equal(orderOf(resumed), orderOf(whole)) {
		t.Errorf("resumed it ran\n%v\nthe whole run\n%v", orderOf(resumed), orderOf(whole))
	}
	if left, err := cleanup.Alive(home); err != nil || len(left) > 0 {
		t.Errorf("work in progress is left: %v, %v", left, err)
	}
}

// runKilled runs the test in a process that kills itself, with this home.
func runKilled(t *testing.T, home string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), killedRunTests+"="+home, "TMPDIR="+t.TempDir())
	output, err := child.CombinedOutput()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) || failed.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the run ended with %v: %s", err, output)
	}
}

// The test process kills itself between the starts of a batch's instances.
func TestARunThatIsKilledWithinABatchResumes(t *testing.T) {
	testenv.NeedsAgent(t)
	if home := os.Getenv(killedRunTests); home != "" {
		n := 0
		_, err := Execute(t.Context(), Options{Home: home, Directory: filepath.Join(home, "run"), Plan: plan(t, levelsOfEcho, alternating, threeBare),
			Watch: func(string, subject.Cell) func(usage.Reading) {
				if n++; n == 5 { // the second of the second batch
					err := syscall.Kill(os.Getpid(), syscall.SIGKILL)
					t.Error(err)
				}
				return nil
			}})
		t.Fatal("it was not killed:", err)
	}
	home := t.TempDir()
	runKilled(t, home)
	killed, err := rundir.Open(filepath.Join(home, "run"))
	if err != nil || len(killed.Trials) != 3 {
		t.Fatalf("%d trials are kept, %v", len(killed.Trials), err)
	}
	resumed := execute(t, t.Context(), Options{Home: home, Directory: filepath.Join(home, "run")})
	whole := execute(t, t.Context(), Options{Plan: plan(t, levelsOfEcho, alternating, threeBare)})
	if !slices.Equal(orderOf(resumed), orderOf(whole)) {
		t.Errorf("resumed it ran\n%v\nthe whole run\n%v", orderOf(resumed), orderOf(whole))
	}
	if left, err := cleanup.Alive(home); err != nil || len(left) > 0 {
		t.Errorf("work in progress is left: %v, %v", left, err)
	}
}

// A stop of the process is no time of the workload: what was under way is made again.
func TestABatchInWhichTareWasStoppedIsMadeAgain(t *testing.T) {
	for _, order := range []string{alternating, "{order: interleaved, blocks: 2}"} {
		seen, notes := 0, 0
		r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: ./echo.yaml}]", order, threeBare),
			Watch: func(string, subject.Cell) func(usage.Reading) {
				if seen++; seen == 2 { // nothing tells a program of a stop but the signal that ends it
					if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err != nil {
						t.Error(err)
					}
				}
				return nil
			},
			Events: func(e Event) {
				if e.Kind == Noted && strings.Contains(e.Message, "was stopped (SIGSTOP or Ctrl-Z) during block 1 of echo: what was under way is discarded") {
					notes++
				}
			}})
		warned := 0
		for _, trial := range r.Run.Trials {
			if slices.ContainsFunc(trial.Warnings, func(w string) bool { return strings.Contains(w, "made it again") }) {
				warned++
			}
		}
		if want := map[bool]int{true: 3, false: 1}[order == alternating]; notes != 1 || warned != want || len(r.Run.Trials) != 6 || r.Failed != 0 {
			t.Errorf("%s: %d notes, %d of %d trials were made again, %d failed", order, notes, warned, len(r.Run.Trials), r.Failed)
		}
	}
}

// Starts come first. The instances of the last round serve the block, unless the block has
// no other stop to measure; one that was started for a workload alone is stopped.
func TestStartsAlternateAndTheLastInstancesServeTheBlock(t *testing.T) {
	for workloads, want := range map[string]struct{ starts, others int64 }{
		"[{use: ./echo.yaml}, {use: startup}]":               {2 + 2 + 6, 4},
		"[{use: startup}]":                                   {2 + 6, 0},
		"[{use: ./echo.yaml}, {use: startup, fresh: trial}]": {2 + 6 + 4, 4},
	} {
		starts, stops := bareStarts.Load(), bareStops.Load()
		r := execute(t, t.Context(), Options{Plan: plan(t, workloads, alternating, two)})
		if n := bareStarts.Load() - starts; n != want.starts || bareStops.Load()-stops != n || r.Failed != 0 {
			t.Errorf("%s: %d starts of two environments in two blocks, %d stops, %d trials failed", workloads, n, bareStops.Load()-stops, r.Failed)
		}
		for _, trial := range r.Run.Trials {
			if trial.Workload == "echo" {
				want.others--
				continue
			}
			rounds := map[int]int{1: 1, 2: 3}[trial.Block]
			if len(trial.Rounds) != rounds || rounds > 1 && len(trial.Instances) != rounds || len(trial.Phases) != 2 {
				t.Errorf("%s: %s has %d rounds in %v, phases %v", workloads, trial.Workload, len(trial.Rounds), trial.Instances, trial.Phases)
			}
			for _, round := range trial.Rounds {
				if m := round.Metrics; !(m["start"] > 0) || m["agent"] != m["start"] || m["prepare"] != 3600 || round.HostSeconds != m["start"] {
					t.Errorf("%s: a round is %+v", workloads, round)
				}
			}
		}
		if want.others != 0 {
			t.Errorf("%s: %d trials of other workloads are missing", workloads, want.others)
		}
	}
}

func TestADryRunSaysHowManyRoundsABlockHas(t *testing.T) {
	d, err := NewDryRun(plan(t, "[{use: ./echo.yaml}, {use: startup}]", "{order: alternating}", two))
	if err != nil || !strings.Contains(d.Words, "rounds of samples: at first 16, or as many as take 10s, chosen after 3 blocks") {
		t.Errorf("%q, %v", d.Words, err)
	}
	d, err = NewDryRun(plan(t, "[{use: startup}]", "{order: alternating}", two))
	if err != nil || !strings.Contains(d.Words, "4 rounds of samples in each block") {
		t.Errorf("%q, %v", d.Words, err)
	}
}

// Environments that do not fit into the machine's memory together are in blocks of
// their own, also after a resume. No such limit can be set, so the trials fail.
func TestEnvironmentsTakeTurnsAndResumeInThem(t *testing.T) {
	home := t.TempDir()
	crowded := func() *study.Plan {
		p := plan(t, "[{use: ./echo.yaml}]", "{order: alternating, rounds: 3, blocks: 1}", threeBare)
		for i := range p.Environments {
			p.Environments[i].Limits.Memory = 1 << 60
		}
		return p
	}
	whole := execute(t, t.Context(), Options{Home: home, Plan: crowded()})
	blocks := map[int]string{}
	for _, trial := range whole.Run.Trials {
		blocks[trial.Block] += trial.Environment
	}
	for block, names := range blocks {
		if other := []string{"b", "c"}[(block-1)%2]; len(names) != 2 || !strings.Contains(names, "a") || !strings.Contains(names, other) {
			t.Errorf("block %d has %s", block, names)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var noted []string
	cut := execute(t, ctx, Options{Home: home, Plan: crowded(), Events: func(e Event) {
		switch {
		case e.Kind == Noted:
			noted = append(noted, e.Message)
		case e.Kind == Block && e.Slot.Block == 2:
			cancel()
		}
	}})
	if len(noted) == 0 || !strings.Contains(noted[0], "take turns of a block each beside a: b; c") {
		t.Errorf("%q is noted", noted)
	}
	resumed := execute(t, t.Context(), Options{Home: home, Directory: cut.Directory})
	if len(cut.Run.Trials) != 2 || !slices.Equal(orderOf(resumed), orderOf(whole)) {
		t.Errorf("resumed after %d trials it ran\n%v\nthe whole run\n%v", len(cut.Run.Trials), orderOf(resumed), orderOf(whole))
	}
	d, err := NewDryRun(crowded())
	if err != nil || !strings.Contains(strings.Join(d.Remarks, "\n"), "take turns") || !strings.HasPrefix(d.Words, "2 blocks, 4 trials") {
		t.Errorf("%q, %q, %v", d.Words, d.Remarks, err)
	}
	if report, err := os.ReadFile(filepath.Join(whole.Directory, "report.md")); err != nil || !strings.Contains(string(report), "take turns of a block each beside a") {
		t.Errorf("the report does not say so, %v", err)
	}
}
