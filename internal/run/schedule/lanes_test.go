package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/verdict"
)

// cluster runs a schedule over several nodes, in an order that pick decides.
type cluster struct {
	s        *Schedule
	nodes    []string
	pick     func(n int) int
	value    func(Slot) float64
	fails    func(Slot) bool
	parallel int
	running  map[string]Batch
	journal  []rundir.Trial
}

func over(t fataler, p *study.Plan, nodes []string, parallel int, pick func(int) int, value func(Slot) float64) *cluster {
	t.Helper()
	c := &cluster{s: schedule(t, p), nodes: nodes, pick: pick, value: value, parallel: parallel, running: map[string]Batch{}}
	if err := c.s.Over(nodes, parallel); err != nil {
		t.Fatal(err)
	}
	return c
}

// fill asks every idle node, in a random order.
func (c *cluster) fill() {
	idle := lists.Filter(c.nodes, func(node string) bool { _, busy := c.running[node]; return !busy })
	for len(idle) > 0 {
		i := c.pick(len(idle))
		if b, ok := c.s.NextBatchOn(idle[i], c.elapsed()); ok {
			c.running[idle[i]] = b
		}
		idle = slices.Delete(idle, i, i+1)
	}
}

func (c *cluster) elapsed() time.Duration {
	return time.Duration(len(c.journal)) * time.Second / time.Duration(c.parallel)
}

// finish ends one of the batches that run; false where none does.
func (c *cluster) finish() bool {
	busy := lists.Filter(c.nodes, func(node string) bool { _, busy := c.running[node]; return busy })
	if len(busy) == 0 {
		return false
	}
	node := busy[c.pick(len(busy))]
	batch := c.running[node]
	delete(c.running, node)
	w := &world{value: c.value, fails: c.fails, took: time.Second, now: began.Add(c.elapsed())}
	for _, slot := range batch.Slots {
		trial := w.run(slot)
		trial.Node = slot.Node
		c.journal = append(c.journal, trial)
	}
	for _, trial := range c.journal[len(c.journal)-len(batch.Slots):] {
		c.s.Record(trial)
	}
	return true
}

func (c *cluster) play(t fataler) []rundir.Trial {
	t.Helper()
	for {
		c.fill()
		if len(c.running) > c.parallel {
			t.Fatal("more nodes work than may:", len(c.running))
		}
		blocks := map[int]string{}
		for node, b := range c.running {
			if other := blocks[b.Slots[0].Block]; other != "" {
				t.Fatal("block", b.Slots[0].Block, "runs on", node, "and", other)
			}
			blocks[b.Slots[0].Block] = node
		}
		if !c.finish() {
			if c.s.Why() == "" {
				t.Fatal("nothing runs, and the schedule does not say why")
			}
			return c.journal
		}
		if len(c.journal) > 20000 {
			t.Fatal("the schedule does not end")
		}
	}
}

// several draws a study for several nodes, and the nodes.
func several(t *rapid.T) (*study.Plan, []string, int) {
	p := plans(t)
	if p.Design.Order == "sequential" {
		p.Design.Order = "interleaved"
	}
	p.Design.RoundsChosen = p.Design.Order == study.Alternating && rapid.Bool().Draw(t, "chosen")
	nodes := lists.Map(upTo(rapid.IntRange(2, 5).Draw(t, "nodes")), func(n int) string { return fmt.Sprint("n", n) })
	return p, nodes, rapid.IntRange(1, len(nodes)).Draw(t, "parallel")
}

func picks(t *rapid.T) func(int) int {
	order := newOrder(rapid.Uint64().Draw(t, "interleaving"), 0)
	return func(n int) int { return int(order.below(uint64(n))) }
}

// oncePerSlot checks that each block is on one node, in one piece there, and has nothing
// and no position twice.
func oncePerSlot(t fataler, journal []rundir.Trial) {
	t.Helper()
	home, open := map[int]string{}, map[string]int{}
	seen, positions := map[trialKey]bool{}, map[[2]int]bool{}
	for _, trial := range journal {
		if trial.Traced {
			continue
		}
		k := trialKey{trial.Block, trial.Traced, trial.Cell()}
		at := [2]int{trial.Block, trial.Position}
		switch known := home[trial.Block]; {
		case seen[k] || positions[at]:
			t.Fatal("twice:", fmt.Sprintf("%+v", trial))
		case known != "" && known != trial.Node:
			t.Fatal("block", trial.Block, "is on", known, "and on", trial.Node)
		case known != "" && open[trial.Node] != trial.Block:
			t.Fatal(known, "comes back to block", trial.Block, "from", open[trial.Node])
		}
		seen[k], positions[at], home[trial.Block], open[trial.Node] = true, true, trial.Node, trial.Block
	}
}

func TestNodesWorkOnTheirOwnBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, nodes, parallel := several(t)
		c := over(t, p, nodes, parallel, picks(t), worlds(t)().value)
		oncePerSlot(t, c.play(t))
	})
}

// A run that is broken off anywhere goes on: what was begun on a node is finished there.
func TestARunOverNodesResumesAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, nodes, parallel := several(t)
		value := worlds(t)().value
		whole := over(t, p, nodes, parallel, picks(t), value).play(t)
		cut := rapid.IntRange(0, len(whole)).Draw(t, "broken off after")
		c := over(t, p, nodes, parallel, picks(t), value)
		for _, trial := range whole[:cut] {
			c.s.Record(trial)
		}
		c.journal = slices.Clone(whole[:cut])
		oncePerSlot(t, c.play(t))
		if slices.ContainsFunc(c.s.Contrasts(), func(k verdict.Contrast) bool { return k.Primary && k.Open }) && p.Design.Budget == 0 {
			t.Fatalf("it ended with open verdicts: %s", c.s.Why())
		}
	})
}

// The verdicts of a run are those of its blocks in the order in which they were begun, as
// its report has them, whichever were complete first.
func TestVerdictsDoNotDependOnWhichBlockIsCompleteFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, nodes, parallel := several(t)
		p.Design.Budget = 0
		if p.Design.Blocks.Open {
			p.Design.Blocks = upTo60
		}
		c := over(t, p, nodes, parallel, picks(t), worlds(t)().value)
		first := map[string]verdict.Verdict{}
		for c.fill(); c.finish(); c.fill() {
			for _, k := range c.s.Contrasts() {
				key := fmt.Sprint(k.Workload, k.Level, k.Metric, k.Environment)
				if first[key] != "" && k.Verdict != first[key] {
					t.Fatalf("%s was %s and is %s", key, first[key], k.Verdict)
				}
				if k.Primary && !k.Open {
					first[key] = k.Verdict
				}
			}
		}
		for _, k := range verdict.Contrasts(p, c.journal, rundir.Manifest{}) {
			if key := fmt.Sprint(k.Workload, k.Level, k.Metric, k.Environment); k.Primary && first[key] != k.Verdict {
				t.Fatalf("%s was %s, and the report says %s", key, first[key], k.Verdict)
			}
		}
	})
}

func TestNodesThatAreFreeShareTheBlocks(t *testing.T) {
	p := planOf(study.Blocks{Min: 12, Max: 12, Fixed: true}, []string{"native", "docker"}, "cpu:block")
	for parallel := 1; parallel <= 3; parallel++ {
		asked := 0
		c := over(t, p, []string{"a", "b", "c"}, parallel, func(n int) int { asked++; return asked % n }, noise(1, .01, nil))
		trials := map[string]int{}
		for _, trial := range c.play(t) {
			trials[trial.Node]++
		}
		if least, most := min(trials["a"], trials["b"], trials["c"]), max(trials["a"], trials["b"], trials["c"]); least < 6 || most > 10 {
			t.Errorf("%d at a time: %v", parallel, trials)
		}
		if want := "all 12 blocks are done"; !strings.HasPrefix(c.s.Why(), want) || c.s.Contrasts()[0].N != 12 {
			t.Errorf("%s; n is %d", c.s.Why(), c.s.Contrasts()[0].N)
		}
	}
}

func TestANodeOnWhichEverythingFailsGetsNoMoreBlocks(t *testing.T) {
	p := planOf(study.Blocks{Min: 4, Max: 60}, []string{"native", "docker"}, "cpu:block", "disk:block")
	c := over(t, p, []string{"a", "b"}, 2, func(n int) int { return n - 1 }, noise(1, .001, nil))
	c.fails = func(s Slot) bool { return s.Node == "b" } // at once, while a has not ended a trial
	oncePerSlot(t, c.play(t))
	if got := c.s.Retired("b"); got != "everything failed in 2 blocks in a row: it broke" || c.s.Retired("a") != "" {
		t.Errorf("b: %q, a: %q", got, c.s.Retired("a"))
	}
	for _, k := range c.s.Contrasts() {
		if k.Verdict != verdict.Equivalent || k.N != 6 {
			t.Errorf("%s is %s after %d blocks (%s)", k.Workload, k.Verdict, k.N, k.Reason)
		}
	}
}

func TestTheBlockOfANodeThatIsGoneIsAbandoned(t *testing.T) {
	p := planOf(study.Blocks{Min: 6, Max: 6, Fixed: true}, []string{"native", "docker"}, "cpu:block")
	c := over(t, p, []string{"a", "b"}, 2, func(int) int { return 0 }, noise(1, .001, nil))
	c.fill()
	delete(c.running, "b")
	c.s.Retire("b", "the link is gone")
	c.play(t)
	if k := c.s.Contrasts()[0]; k.N != 6 || k.Verdict != verdict.Equivalent {
		t.Errorf("%s after %d blocks: %s", k.Verdict, k.N, c.s.Why())
	}
	if last := c.journal[len(c.journal)-1].Block; last != 7 {
		t.Errorf("the last block is %d", last)
	}
	c.s.Retire("a", "it too")
	c = over(t, p, []string{"a", "b"}, 2, func(int) int { return 0 }, nil)
	c.fill()
	c.s.Retire("a", "it was stopped")
	c.s.Retire("b", "the link is gone")
	if _, more := c.s.NextBatchOn("a", 0); more || c.s.Why() != "no node is left; a: it was stopped; b: the link is gone" {
		t.Error(c.s.Why())
	}
}

func TestBlocksOfOneEnvironmentAfterAnotherDoNotRunSideBySide(t *testing.T) {
	p := planOf(two, []string{"native", "docker"}, "cpu:block")
	p.Design.Order = "sequential"
	if err := schedule(t, p).Over([]string{"a", "b"}, 2); err == nil || !strings.Contains(err.Error(), "order: sequential") {
		t.Error(err)
	}
}

// On one node, named or not, blocks and orders are those of a run on this machine.
func TestOneNodeChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, world := plans(t), worlds(t)
		s := schedule(t, p)
		if err := s.Over([]string{"n1"}, 1); err != nil {
			t.Fatal(err)
		}
		if here, there := words(play(t, schedule(t, p), world())), words(play(t, s, world())); here != there {
			t.Fatalf("here\n%s\nthere\n%s", here, there)
		}
	})
}
