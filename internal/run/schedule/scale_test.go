package schedule

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/needs"
)

// fleet runs a schedule over many nodes in simulated time: whenever a batch is complete,
// its trials are recorded, the progress is asked for, and its node asks for more.
type fleet struct {
	s       *Schedule
	rng     *rand.Rand
	now     time.Time
	running underWay
	waiting []string // nodes that have nothing to do until another one is complete
	trials  int
	most    int // batches at the same time
}

type underWay []working

type working struct {
	until time.Time
	batch Batch
	node  string
}

func (q underWay) Len() int           { return len(q) }
func (q underWay) Less(i, j int) bool { return q[i].until.Before(q[j].until) }
func (q underWay) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *underWay) Push(x any)        { *q = append(*q, x.(working)) }
func (q *underWay) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (f *fleet) ask(node string) {
	b, ok := f.s.NextBatchOn(node, 0)
	if !ok {
		f.waiting = append(f.waiting, node)
		return
	}
	took := time.Duration((1 + f.rng.Float64()) * float64(time.Second))
	heap.Push(&f.running, working{f.now.Add(took), b, node})
	f.most = max(f.most, len(f.running))
}

func (f *fleet) run(nodes []string) {
	for _, node := range nodes {
		f.ask(node)
	}
	for len(f.running) > 0 {
		w := heap.Pop(&f.running).(working)
		began := f.now
		f.now = w.until
		for _, slot := range w.batch.Slots {
			f.trials++
			f.s.Record(rundir.Trial{Block: slot.Block, Position: slot.Position, Environment: slot.Environment, Workload: slot.Workload, Level: slot.Level, Node: w.node, Status: rundir.OK,
				Started: began, Ended: f.now, Metrics: map[string]float64{"time": math.Exp(.01 * f.rng.NormFloat64())}})
		}
		f.s.Progress(0)
		f.ask(w.node)
		if len(f.waiting) > 0 && len(f.running) < len(nodes) {
			again := f.waiting
			f.waiting = nil
			for _, node := range again {
				f.ask(node)
			}
		}
	}
}

func fleetOf(t fataler, nodes, parallel, blocks int) time.Duration {
	t.Helper()
	p := planOf(study.Blocks{Min: blocks, Max: blocks, Fixed: true}, []string{"a", "b"}, "w:block")
	f := &fleet{s: schedule(t, p), rng: rand.New(rand.NewPCG(1, 2)), now: time.Unix(0, 0)}
	names := namesOf(nodes)
	if err := f.s.Over(names, parallel); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	f.run(names)
	took := time.Since(began)
	if f.trials != 2*blocks || f.most != min(parallel, blocks) {
		t.Fatal(fmt.Sprintf("%d trials, at most %d at the same time: %s", f.trials, f.most, f.s.Why()))
	}
	return took
}

func namesOf(nodes int) (names []string) {
	for i := range nodes {
		names = append(names, fmt.Sprintf("node-%04d", i))
	}
	return names
}

// resumedOf gives the trials of so many blocks to a schedule that goes on from there.
func resumedOf(t fataler, nodes, blocks int) time.Duration {
	t.Helper()
	s := schedule(t, planOf(study.Blocks{Min: blocks, Max: blocks, Fixed: true}, []string{"a", "b"}, "w:block"))
	names := namesOf(nodes)
	if err := s.Over(names, nodes); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for block := 1; block < blocks; block++ {
		for i, environment := range []string{"a", "b"} {
			at := time.Unix(int64(block), 0)
			s.Record(rundir.Trial{Block: block, Position: i + 1, Environment: environment, Workload: "w", Node: names[block%nodes], Status: rundir.OK,
				Started: at, Ended: at.Add(time.Second), Metrics: map[string]float64{"time": 1 + float64(block%7)}})
		}
	}
	b, more := s.NextBatchOn(names[0], 0)
	took := time.Since(began)
	if !more || b.Slots[0].Block != blocks {
		t.Fatal("it goes on with", b.Slots, s.Why())
	}
	return took
}

// Twice the nodes or twice the blocks take about twice the time, and not four times.
func TestTheTimeOfARunGrowsWithItsTrials(t *testing.T) {
	needs.Minutes(t, "runs thousands of blocks")
	part := 1
	if needs.ShortForm() {
		part = 2
	}
	run := func(nodes, parallel, blocks int) func() time.Duration {
		return func() time.Duration { return fleetOf(t, nodes, parallel, blocks/part) }
	}
	resumed := func(nodes, blocks int) func() time.Duration {
		return func() time.Duration { return resumedOf(t, nodes, blocks/part) }
	}
	for name, c := range map[string]struct{ once, twice func() time.Duration }{
		"blocks":             {run(50, 50, 1500), run(50, 50, 3000)},
		"nodes":              {run(200, 200, 1000), run(400, 400, 1000)},
		"nodes that wait":    {run(200, 10, 1000), run(400, 10, 1000)},
		"blocks of resuming": {resumed(50, 20000), resumed(50, 40000)},
		"nodes of resuming":  {resumed(200, 20000), resumed(400, 20000)},
	} {
		t.Run(name, func(t *testing.T) {
			ratio := math.Inf(1)
			for range 4 { // the machine may be busy with something else
				one := c.once()
				two := c.twice()
				ratio = min(ratio, two.Seconds()/one.Seconds())
				t.Logf("once in %s, twice in %s", one, two)
				if ratio < 3 {
					return
				}
			}
			t.Errorf("%.1f times the time", ratio)
		})
	}
}
