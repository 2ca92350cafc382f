package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
)

// gathered is bare, but each start waits until as many are under way together,
// and the one of a certain number fails.
type gathered struct {
	bare
	Together int   `yaml:"together" json:"together"`
	Fails    int64 `yaml:"fails" json:"fails"`
}

// crowd is what the starts of gathered saw.
var crowd struct {
	sync.Mutex
	inside, most int
	arrived      int
	gate         chan struct{}
	calls        atomic.Int64
}

func resetCrowd() {
	crowd.Lock()
	defer crowd.Unlock()
	crowd.inside, crowd.most, crowd.arrived, crowd.gate = 0, 0, 0, make(chan struct{})
	crowd.calls.Store(0)
}

func (g *gathered) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	if crowd.calls.Add(1) == g.Fails {
		return nil, errors.New("no memory is left")
	}
	crowd.Lock()
	crowd.inside++
	crowd.most = max(crowd.most, crowd.inside)
	gate := crowd.gate
	// By those that came: how many are inside also falls when one leaves.
	if crowd.arrived++; crowd.arrived%max(g.Together, 1) == 0 {
		close(gate)
		crowd.gate = make(chan struct{})
	}
	crowd.Unlock()
	defer func() {
		crowd.Lock()
		crowd.inside--
		crowd.Unlock()
	}()
	select {
	case <-gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return g.bare.Start(ctx, r)
}

func init() {
	environment.Register(environment.Registration{
		Kind: "gathered", Options: func() any { return &gathered{} },
		Requires: func(any) []environment.Requirement { return nil },
		New:      func(o any) (environment.Environment, error) { return o.(*gathered), nil },
	})
}

func TestParallelStartsAreLimitedByTheStudy(t *testing.T) {
	for starting, want := range map[string]int{"2": 2, "0": 6} {
		resetCrowd()
		environments := fmt.Sprintf("{a: {kind: gathered, together: %d}}", want)
		r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: startup, instances: 6, starting: "+starting+"}]", "{blocks: 1}", environments)})
		if trial := r.Run.Trials[0]; trial.Status != rundir.OK || crowd.most != want {
			t.Errorf("starting %s: %d at a time, not %d; %s %s", starting, crowd.most, want, trial.Status, trial.Reason)
		}
	}
}

func TestAnInstanceThatCannotStartIsNamedAndTheOthersAreStopped(t *testing.T) {
	for _, c := range []struct{ starting, says string }{{"1", "instance 3 of 5 (b1-a-3): no memory is left"}, {"0", " of 5 (b1-a-"}} {
		resetCrowd()
		starts, stops := bareStarts.Load(), bareStops.Load()
		r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: startup, instances: 5, starting: "+c.starting+"}]", "{blocks: 1}", "{a: {kind: gathered, fails: 3}}")})
		if trial := r.Run.Trials[0]; trial.Status != rundir.Failed || !strings.Contains(trial.Reason, c.says) || strings.Count(trial.Reason, "\n") > 0 {
			t.Errorf("starting %s: %s %q", c.starting, trial.Status, trial.Reason)
		}
		if begun, ended := bareStarts.Load()-starts, bareStops.Load()-stops; begun != ended || c.starting == "1" && begun != 2 {
			t.Errorf("starting %s: %d were started and %d stopped", c.starting, begun, ended)
		}
	}
}

func TestManyStartsAreMeasuredAsADistributionAndAtRest(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: plan(t, `[{use: startup-many, instances: 4, rest: "0.1"}]`, "{blocks: 1}", "{a: {kind: bare}}")})
	trial := r.Run.Trials[0]
	if trial.Status != rundir.OK || len(trial.Copies) != 4 {
		t.Fatalf("%s %s, copies %v", trial.Status, trial.Reason, trial.Copies)
	}
	var starts []float64
	for _, c := range trial.Copies {
		starts = append(starts, c.Metrics["start"])
	}
	m := trial.Metrics
	if m["start_max"] != slices.Max(starts) || m["start_p50"] > m["start_p95"] || m["start_p95"] > m["start_p99"] || m["start_p99"] > m["start_max"] {
		t.Errorf("%v of %v", m, starts)
	}
	if rate := 4 / m["start_all"]; m["rate"] != rate {
		t.Errorf("a rate of %v, not %v", m["rate"], rate)
	}
	up := trial.Series["instances_up"]
	if len(up) != 4 || up[3].Value != 4 || up[3].Second != m["start_all"] || up[0].Second > up[3].Second {
		t.Errorf("instances that were up: %v", up)
	}
	if _, count := m["memory_host"]; !count {
		t.Error("the host's memory was not looked at")
	}
	if trial.Missing["memory"] == "" || trial.Missing["idle_cpu"] == "" {
		t.Errorf("what cannot be counted has no reason: %v", trial.Missing)
	}
}

// beside makes a plan of a measured driver and its neighbours' one. In both
// commands FIFO is a named pipe by which they meet.
func beside(t *testing.T, count int, driver, neighbour, environments string) *study.Plan {
	t.Helper()
	directory := t.TempDir()
	fifo := filepath.Join(directory, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]string{"measured": driver, "noise": neighbour} {
		text := fmt.Sprintf("workload: %s\nstresses: cpu\ndriver: {run: %q}\nparser: {regex: ['rate (?P<rate>\\d+)']}\nmetrics: [{name: rate, unit: op/s, better: higher, primary: true}]\n",
			name, strings.ReplaceAll(run, "FIFO", fifo))
		if err := os.WriteFile(filepath.Join(directory, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	entry := fmt.Sprintf("[{use: %s/measured.yaml, neighbours: %d, neighbour: {use: %s/noise.yaml}}]", directory, count, directory)
	return plan(t, entry, "{blocks: 1}", environments)
}

// onReading reads so many lines of the pipe, whoever writes them.
func onReading(lines int) string {
	return fmt.Sprintf("exec 3<>FIFO; for i in $(seq %d); do read line <&3; done; echo rate 5", lines)
}

func TestNeighboursAreAtWorkWhileTheFirstIsMeasured(t *testing.T) {
	starts, stops := bareStarts.Load(), bareStops.Load()
	r := execute(t, t.Context(), Options{Plan: beside(t, 2, onReading(2), "echo noise; echo here > FIFO; exec sleep 600", "{a: {kind: bare}}")})
	trial := r.Run.Trials[0]
	if trial.Status != rundir.OK || trial.Metrics["rate"] != 5 || trial.Copies != nil || len(trial.Instances) != 3 {
		t.Fatalf("%s %s: %v in %v, copies %v", trial.Status, trial.Reason, trial.Metrics, trial.Instances, trial.Copies)
	}
	if got := output(t, r, trial, "neighbour2.driver.stdout"); got != "noise" {
		t.Errorf("the second neighbour printed %q", got)
	}
	if begun, ended := bareStarts.Load()-starts, bareStops.Load()-stops; begun != 3 || ended != 3 {
		t.Errorf("%d were started and %d stopped", begun, ended)
	}
}

// The measured driver counts the neighbours' shells that are not stopped.
func TestNeighboursOfOtherEnvironmentsAreStoppedDuringASample(t *testing.T) {
	// A process that gets SIGSTOP stops when it is scheduled next.
	working := "for i in $(seq 100); do n=$(for f in $(grep -sl 'FIFO[.]noise' /proc/[0-9]*/cmdline); do cut -d' ' -f3 $(dirname $f)/stat; done | grep -vc T); [ $n != 2 ] || break; done; echo rate $n"
	r := execute(t, t.Context(), Options{Plan: beside(t, 2, working, "exec 3<>FIFO; read line <&3 # FIFO.noise", two)})
	for _, trial := range r.Run.Trials {
		if trial.Status != rundir.OK || len(trial.Rounds) < 2 {
			t.Errorf("%s %s in %d rounds", trial.Status, trial.Reason, len(trial.Rounds))
		}
		for _, round := range trial.Rounds {
			if n := round.Metrics["rate"]; n != 2 {
				t.Errorf("round %d of %s has %g neighbours", round.Number, trial.Environment, n)
			}
		}
	}
}

func TestANeighbourThatHasFinishedBeginsAgain(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: beside(t, 1, onReading(5), "echo here > FIFO", "{a: {kind: bare}}")})
	if trial := r.Run.Trials[0]; trial.Status != rundir.OK {
		t.Errorf("%s %s", trial.Status, trial.Reason)
	}
}

func TestANeighbourThatFailsFailsTheTrialWithItsReason(t *testing.T) {
	for neighbour, says := range map[string]string{
		"echo the disk is full >&2; exit 4":  "status 4",
		"echo gone; kill -9 $PPID; sleep 60": "neighbour 1: driver",
	} {
		r := execute(t, t.Context(), Options{Plan: beside(t, 1, "exec sleep 600", neighbour, "{a: {kind: bare}}")})
		trial := r.Run.Trials[0]
		if trial.Status != rundir.Failed || !strings.HasPrefix(trial.Reason, "neighbour 1: ") || !strings.Contains(trial.Reason, says) || strings.Contains(trial.Reason, "sleep 600") {
			t.Errorf("%s: %s", trial.Status, trial.Reason)
		}
	}
}
