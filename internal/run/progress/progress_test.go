package progress

import (
	"strings"
	"testing"

	"tare/internal/base/term"
	"tare/internal/run"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
)

func TestTheReasonOfAFailureIsNoLineOfItsOwn(t *testing.T) {
	e := run.Event{Kind: run.Tried, Slot: &schedule.Slot{}, Trial: &rundir.Trial{Status: rundir.Failed, Environment: "vm", Reason: "exit status 1: \x1b[2J\nverdict: equivalent"}}
	for _, show := range []func(*strings.Builder) Display{
		func(out *strings.Builder) Display { return New(term.NewWriter(out)) },
		func(out *strings.Builder) Display {
			return &Live{out: term.NewWriter(out), size: func() (int, int) { return 80, 24 }}
		},
	} {
		var out strings.Builder
		show(&out).Event(e)
		if got := out.String(); !strings.Contains(got, "\\u001b[2J\n  verdict") || strings.Contains(got, "\x1b[2J") {
			t.Errorf("%q", got)
		}
	}
}

func TestWhatWasPrintedBeforeAFailureIsShownOnce(t *testing.T) {
	var out strings.Builder
	display := New(&out)
	for n, reason := range []string{"it died", "it died", "it hung"} {
		display.Event(run.Event{Kind: run.Tried, Slot: &schedule.Slot{}, Trial: &rundir.Trial{Block: n + 1, Workload: "redis", Status: rundir.Failed, Environment: "vm", Reason: reason, Output: "its console:\n  last"}})
	}
	want := "failed: block 1, redis in vm: it died\n  its console:\n    last\nfailed: block 2, redis in vm: it died\nfailed: block 3, redis in vm: it hung\n  its console:\n    last\n"
	if got := out.String(); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// Traced trials come after the blocks: a number of theirs would lie beyond the most.
func TestTracedTrialsAreCalledSoInTheProgress(t *testing.T) {
	e := run.Event{Slot: &schedule.Slot{Block: 9, Workload: "redis", Environment: "docker", Traced: true},
		Progress: schedule.Progress{MaxBlock: 8, NextLook: 10, Decided: 3}}
	if got := blockLine(e); got != "traced trials" {
		t.Error(got)
	}
	if got := trialLine(e); got != "traced trials · redis in docker" {
		t.Error(got)
	}
	e.Slot.Traced = false
	if got := blockLine(e); !strings.HasPrefix(got, "block 9 of at most 8, next interim analysis at 10") {
		t.Error(got)
	}
	if got := trialLine(e); !strings.HasPrefix(got, "block 9/8 · analysis at 10 · redis in docker") {
		t.Error(got)
	}
}

func TestTheProgressNamesTheEnvironmentsThatAlternate(t *testing.T) {
	slot := func(environment string) schedule.Slot {
		return schedule.Slot{Block: 3, Workload: "redis", Level: "clients=1", Environment: environment, Rounds: 16}
	}
	batch := []schedule.Slot{slot("native"), slot("docker"), slot("gvisor")}
	e := run.Event{Kind: run.Trying, Slot: &batch[0], Batch: batch, Progress: schedule.Progress{MaxBlock: 60, NextLook: 8, Open: 2}}
	if got := trialLine(e); got != "block 3/60 · analysis at 8 · redis clients=1: native, docker, gvisor alternating, 16 rounds" {
		t.Error(got)
	}
	if e.Batch = batch[:1]; !strings.Contains(trialLine(e), "redis clients=1: native, 16 rounds") {
		t.Error(trialLine(e))
	}
	if e.Batch = nil; !strings.Contains(trialLine(e), "redis clients=1 in native") {
		t.Error(trialLine(e))
	}
}
