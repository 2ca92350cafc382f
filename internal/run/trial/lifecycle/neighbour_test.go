package lifecycle_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
)

func requestWithNeighbours(n int) instances.Request {
	r := request("a")
	r.Shape.Neighbours = &study.Shape{Copies: n, Together: true}
	r.Shape.Starting = 1 // so that the log has the starts in their order
	return r
}

// busy is a script in which servers and the neighbours' drivers run until they
// are stopped.
func busy(_, command string) fakeenv.Result {
	return fakeenv.Result{Runs: strings.Contains(command, "server") || command == "noise drive"}
}

func TestNeighboursWorkFromPrepareToFinish(t *testing.T) {
	b := newBench(t, busy, "a")
	w := b.workload(t, requestWithNeighbours(1), served("web"), nil)
	must(t, w.Prepare(t.Context()))
	sampled(t, w)
	sampled(t, w)
	must(t, w.Finish(t.Context()))
	b.logged(t, "start b1-a-1", "start b1-a-2",
		"b1-a-2: noise begin", "b1-a-2: noise setup", "b1-a-2: noise server", "b1-a-2: noise warmup", "b1-a-2: noise drive",
		"b1-a-1: web begin", "b1-a-1: web setup", "b1-a-1: web server", "b1-a-1: web warmup",
		"b1-a-1: web drive", "b1-a-1: web drive",
		"b1-a-1: SIGTERM web server", "b1-a-1: web teardown",
		"b1-a-2: SIGKILL noise drive", "b1-a-2: SIGTERM noise server", "b1-a-2: noise teardown")
}

func TestNeighboursArePausedBetweenAlternatingSamples(t *testing.T) {
	b := newBench(t, busy, "a")
	b.alternating = true
	w := b.workload(t, requestWithNeighbours(1), served("web"), nil)
	must(t, w.Prepare(t.Context()))
	sampled(t, w)
	sampled(t, w)
	must(t, w.Finish(t.Context()))
	b.logged(t, "start b1-a-1", "start b1-a-2",
		"b1-a-2: noise begin", "b1-a-2: noise setup", "b1-a-2: noise server", "b1-a-2: noise warmup", "b1-a-2: noise drive",
		"b1-a-1: web begin", "b1-a-1: web setup", "b1-a-1: web server", "b1-a-1: web warmup", "b1-a-2: SIGSTOP noise drive",
		"b1-a-2: SIGCONT noise drive", "b1-a-1: web drive", "b1-a-2: SIGSTOP noise drive",
		"b1-a-2: SIGCONT noise drive", "b1-a-1: web drive", "b1-a-2: SIGSTOP noise drive",
		"b1-a-1: SIGTERM web server", "b1-a-1: web teardown",
		"b1-a-2: SIGKILL noise drive", "b1-a-2: SIGTERM noise server", "b1-a-2: noise teardown")
}

func TestNeighboursOfCopiesThatCannotBePreparedArePaused(t *testing.T) {
	b := newBench(t, func(instance, command string) fakeenv.Result {
		r := busy(instance, command)
		if command == "web setup" {
			r.Code = 1
		}
		return r
	}, "a")
	b.alternating = true
	w := b.workload(t, requestWithNeighbours(1), served("web"), nil)
	if err := w.Prepare(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "setup command") {
		t.Errorf("got %v", err)
	}
	if lines := b.log.Lines(); lines[len(lines)-1] != "b1-a-2: SIGSTOP noise drive" {
		t.Errorf("it ran %q", lines)
	}
	must(t, w.Finish(t.Context()))
}

func TestANeighbourThatExitsInAPauseIsStartedAgainAfterIt(t *testing.T) {
	ends, again := make(chan struct{}), make(chan struct{})
	var rounds atomic.Int64
	b := newBench(t, func(instance, command string) fakeenv.Result {
		switch command {
		case "noise drive":
			if rounds.Add(1) == 2 {
				close(again)
				return fakeenv.Result{Runs: true}
			}
			return fakeenv.Result{Runs: true, Until: ends}
		case "web drive":
			return fakeenv.Result{Runs: true, Until: again}
		}
		return busy(instance, command)
	}, "a")
	b.alternating = true
	w := b.workload(t, requestWithNeighbours(1), served("web"), nil)
	must(t, w.Prepare(t.Context()))
	close(ends)
	if n := rounds.Load(); n != 1 {
		t.Errorf("%d rounds in the pause", n)
	}
	sampled(t, w)
	must(t, w.Finish(t.Context()))
}

func TestANeighbourThatFailsIsTheOnlyReason(t *testing.T) {
	failing := make(chan struct{})
	b := newBench(t, func(instance, command string) fakeenv.Result {
		switch command {
		case "noise drive":
			return fakeenv.Result{Runs: true, Until: failing, Code: 4}
		case "web drive":
			close(failing)
			return fakeenv.Result{Runs: true}
		}
		return busy(instance, command)
	}, "a")
	w := b.workload(t, requestWithNeighbours(1), served("web"), nil)
	must(t, w.Prepare(t.Context()))
	_, err := w.Sample(t.Context())
	if err == nil || err.Error() != "neighbour 1: driver `noise drive`: exited with status 4" {
		t.Errorf("the sample: %v", err)
	}
	must(t, w.Finish(t.Context())) // which does not report it again
	lines := b.log.Lines()
	for _, want := range []string{"b1-a-1: SIGKILL web drive", "b1-a-1: SIGTERM web server", "b1-a-1: web teardown", "b1-a-2: SIGTERM noise server", "b1-a-2: noise teardown"} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is not among %q", want, lines)
		}
	}
}

func TestANeighbourThatFailsAfterTheSampleFailsFinish(t *testing.T) {
	failing := make(chan struct{})
	b := newBench(t, func(instance, command string) fakeenv.Result {
		if command == "noise drive" {
			return fakeenv.Result{Runs: true, Until: failing, Code: 4}
		}
		return busy(instance, command)
	}, "a")
	record := lifecycle.NewRecord(nil)
	w := b.workload(t, requestWithNeighbours(1), served("web"), record)
	must(t, w.Prepare(t.Context()))
	sampled(t, w)
	close(failing)
	for w.NeighbourFailure() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := w.Finish(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "neighbour 1: driver") {
		t.Errorf("Finish: %v", err)
	}
}

func TestANeighbourThatExitsIsStartedAgain(t *testing.T) {
	enough := make(chan struct{})
	var rounds atomic.Int64
	b := newBench(t, func(instance, command string) fakeenv.Result {
		switch command {
		case "noise drive":
			if rounds.Add(1) == 3 {
				close(enough)
			}
			return fakeenv.Result{Runs: rounds.Load() > 3}
		case "web drive":
			return fakeenv.Result{Runs: true, Until: enough}
		}
		return busy(instance, command)
	}, "a")
	w := b.workload(t, requestWithNeighbours(1), served("web"), nil)
	must(t, w.Prepare(t.Context()))
	sampled(t, w)
	must(t, w.Finish(t.Context()))
	if rounds.Load() < 3 {
		t.Errorf("%d rounds", rounds.Load())
	}
}

func TestANeighbourThatCannotStartLeavesTheCopiesAlone(t *testing.T) {
	b := newBench(t, func(instance, command string) fakeenv.Result {
		r := busy(instance, command)
		if command == "noise setup" {
			r.Code = 1
		}
		return r
	}, "a")
	w := b.workload(t, requestWithNeighbours(1), served("web"), nil)
	if err := w.Prepare(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "neighbour 1: setup command") {
		t.Errorf("got %v", err)
	}
	must(t, w.Finish(t.Context()))
	b.logged(t, "start b1-a-1", "start b1-a-2", "b1-a-2: noise begin", "b1-a-2: noise setup", "b1-a-2: noise teardown")
}
