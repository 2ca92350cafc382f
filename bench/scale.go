package main

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"tare/internal/base/failing"
	"tare/internal/environment"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

const (
	scaleNodes  = 1000
	scaleTrials = 100_000
)

// lane is a node with the batch that it works on, in simulated time.
type lane struct {
	node  string
	batch schedule.Batch
	began time.Time
	until time.Time
}

type lanes []lane

func (q lanes) Len() int           { return len(q) }
func (q lanes) Less(i, j int) bool { return q[i].until.Before(q[j].until) }
func (q lanes) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *lanes) Push(x any)        { *q = append(*q, x.(lane)) }
func (q *lanes) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// measureScale runs the schedule and the journal over simulated nodes, each with a block
// of its own: only the trials are made up. After it, the run is resumed and reported.
func measureScale(ctx context.Context, s *session) []row {
	directory := filepath.Join(s.home, "scale-run")
	failing.If(os.RemoveAll(directory))
	defer os.RemoveAll(directory)
	plan := &study.Plan{Format: 1, Study: "a thousand nodes", Name: "scale", Baseline: "native", Seed: 1,
		Design: study.Design{Order: "interleaved", Blocks: study.Blocks{Min: scaleTrials / 2, Max: scaleTrials / 2, Fixed: true}, Margin: .02, Confidence: .95, Family: "metric", Drop: "never"},
		Workloads: []study.Workload{{Name: "w", Fresh: "block", Levels: []study.Level{{}},
			Pack: workload.Pack{Name: "w", Title: "w", Metrics: []workload.Metric{{Name: "rate", Unit: "op/s", Better: "higher", Primary: true}}}}}}
	facts, usable := map[string]rundir.EnvironmentFacts{}, []string{"native", "gvisor"}
	for _, name := range usable {
		plan.Environments = append(plan.Environments, study.Environment{Name: name, Kind: "native", Options: []byte("{}")})
		facts[name] = rundir.EnvironmentFacts{State: environment.Usable}
	}
	var nodes []string
	for n := range scaleNodes {
		nodes = append(nodes, fmt.Sprintf("node-%04d", n))
	}
	w := failing.Must(rundir.Create(directory, plan, rundir.Manifest{Run: "scale", Environments: facts}))
	began := time.Now()
	simulated, took := simulate(w, plan, usable, nodes)
	whole := time.Since(began)
	live := megabytes()
	runtime.KeepAlive(simulated)
	failing.If(w.Close())
	w = nil
	empty := megabytes()
	began = time.Now()
	again := failing.Must(rundir.Resume(directory))
	defer again.Close()
	read := time.Since(began)
	resumed := started(plan, usable, nodes)
	for _, t := range again.Trials {
		resumed.Record(t)
	}
	_, more := resumed.NextBatchOn(nodes[0], 0)
	replayed := time.Since(began)
	more = more || resumed.Progress(0).Open > 0
	resumedMemory := megabytes() - empty
	runtime.KeepAlive(resumed)
	intact := len(again.Trials) == scaleTrials && again.Incomplete == "" && !more
	what := fmt.Sprintf("%d trials on %d simulated nodes", scaleTrials, scaleNodes)
	rows := []row{
		{what + ": schedule, progress and journal, synced after each block", "10 ms a block", fmt.Sprintf("%.1f ms a block, of which %.1f ms in the journal; %.0f s in all; %d MB of live memory",
			whole.Seconds()*2e3/scaleTrials, took.Seconds()*2e3/scaleTrials, whole.Seconds(), live), verdict(whole.Seconds()*2e3/scaleTrials <= 10)},
		{what + ": resumed", "10 s, intact", fmt.Sprintf("%.1f s, of which %.1f s to read the journal; %d trials, nothing left to run: %v; %d MB of live memory", replayed.Seconds(), read.Seconds(), len(again.Trials), !more, resumedMemory), verdict(intact && replayed <= 10*time.Second)},
	}
	for _, format := range []string{"text", "html"} {
		began := time.Now()
		used := s.command(ctx, "report", directory, "--format", format)
		took, mb := time.Since(began), peakMiB(used)*1.048576
		rows = append(rows, row{what + ": `tare report --format " + format + "`", "30 s, 1 GB",
			fmt.Sprintf("%.1f s, %.0f MB", took.Seconds(), mb), verdict(took <= 30*time.Second && mb <= 1000)})
	}
	return rows
}

// megabytes of memory that is in use.
func megabytes() uint64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc / 1e6
}

func started(plan *study.Plan, usable, nodes []string) *schedule.Schedule {
	s := failing.Must(schedule.New(plan, usable))
	failing.If(s.Over(nodes, len(nodes)))
	return s
}

// simulate runs the schedule to its end and returns it, and how long the journal took.
func simulate(w *rundir.Writer, plan *study.Plan, usable, nodes []string) (s *schedule.Schedule, journal time.Duration) {
	s = started(plan, usable, nodes)
	rng, now, working := rand.New(rand.NewPCG(1, 2)), time.Unix(0, 0).UTC(), &lanes{}
	ask := func(node string) {
		if b, ok := s.NextBatchOn(node, 0); ok {
			heap.Push(working, lane{node, b, now, now.Add(time.Duration((1 + rng.Float64()) * float64(time.Second)))})
		}
	}
	for _, node := range nodes {
		ask(node)
	}
	pending := map[string][]rundir.Trial{}
	for working.Len() > 0 {
		l := heap.Pop(working).(lane)
		slot := l.batch.Slots[0]
		t := rundir.Trial{Block: slot.Block, Position: slot.Position, Environment: slot.Environment, Workload: slot.Workload, Node: l.node, Status: rundir.OK,
			Instance: fmt.Sprintf("b%d-%s", slot.Block, slot.Environment), Started: l.began, Ended: l.until, HostSeconds: 1, GuestSeconds: 1, Usage: madeUpUsage(), Metrics: map[string]float64{"rate": 1e4 * (1 + .1*rng.Float64())}}
		now = l.until
		s.Record(t)
		s.Progress(0)
		pending[l.node] = append(pending[l.node], t)
		if block := pending[l.node]; len(block) == len(usable) {
			began := time.Now()
			failing.If(w.Append(block...))
			journal += time.Since(began)
			delete(pending, l.node)
		}
		ask(l.node)
	}
	return s, journal
}
