package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
)

// batches plays a schedule to its end and returns its batches.
func batches(t fataler, s *Schedule, w *world) (all []Batch) {
	t.Helper()
	for {
		batch, ok := s.NextBatch(w.now.Sub(began))
		if !ok {
			return all
		}
		for _, slot := range batch.Slots {
			s.Record(w.run(slot))
		}
		if all = append(all, batch); len(all) > 20000 {
			t.Fatal("the schedule does not end")
		}
	}
}

func environmentsOf(b Batch) []string {
	return lists.Map(b.Slots, func(s Slot) string { return s.Environment })
}

func TestEveryRoundHasEveryEnvironmentOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := alternating(plans(t))
		p.Design.Rounds = rapid.IntRange(1, 20).Draw(t, "rounds")
		for _, b := range batches(t, schedule(t, p), worlds(t)()) {
			first := b.Slots[0]
			workload := p.Workload(first.Workload)
			most := p.Rounds(*workload, study.Level{})
			if first.Rounds != most && !workload.Pack.Startup || first.Rounds == 0 && len(b.Slots) > 1 || b.Rounds() > max(1, most) {
				t.Fatalf("%+v", b)
			}
			for _, slot := range b.Slots {
				if slot.Rounds != first.Rounds && !workload.Pack.Startup || (slot.Rounds == 0) != (first.Rounds == 0) || slot.Workload != first.Workload || slot.Level != first.Level || slot.Block != first.Block {
					t.Fatalf("%+v is in a batch with %+v", slot, first)
				}
			}
			for n := 1; n <= b.Rounds(); n++ {
				all := slices.DeleteFunc(lists.Map(upTo(len(b.Slots)), func(i int) int { return i - 1 }), func(i int) bool { return n <= b.Rounds()-max(1, b.Slots[i].Rounds) })
				if got := slices.Sorted(slices.Values(b.Round(n))); !slices.Equal(got, all) || len(all) == 0 {
					t.Fatalf("round %d is %v", n, b.Round(n))
				}
			}
		}
	})
}

// What is live in a block runs there once, those of a cell together.
func TestABatchHasAllLiveEnvironmentsOfItsCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := alternating(plans(t))
		s, w := schedule(t, p), worlds(t)()
		var live map[cell][]string
		block := 0
		seen := map[cell]bool{}
		whole := func() {
			for c, names := range live {
				if !seen[c] && len(names) > 0 {
					t.Fatalf("block %d lost %s %s", block, c.Workload, c.Level)
				}
			}
			clear(seen)
		}
		for {
			b, ok := s.NextBatch(w.now.Sub(began))
			if !ok {
				break
			}
			if b.Slots[0].Block != block {
				if elapsed := w.now.Sub(began); p.Design.Budget == 0 || elapsed < p.Design.Budget {
					whole()
				}
				block = b.Slots[0].Block
				live = s.live(stage{-1, block})
			}
			for c, names := range live {
				if c.Workload != b.Slots[0].Workload || c.Level != b.Slots[0].Level {
					continue
				}
				seen[c] = true
				if got := environmentsOf(b); c.rounds > 0 && !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(names))) {
					t.Fatalf("block %d runs %s in %v, live are %v", block, c.Workload, got, names)
				}
			}
			for _, slot := range b.Slots {
				s.Record(w.run(slot))
			}
		}
		if s.cutBlock == 0 {
			whole()
		}
	})
}

// Other workloads, and what was recorded before, do not change the orders of a
// cell: they follow from the seed, the block, the cell and the round.
func TestTheOrderOfARoundFollowsFromSeedBlockCellAndRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, other := alternating(plans(t)), alternating(plans(t))
		other.Seed = p.Seed
		orders := map[string]string{} // block, cell → orders of environments
		for i, s := range []*Schedule{schedule(t, p), schedule(t, other)} {
			for _, b := range batches(t, s, worlds(t)()) {
				first := b.Slots[0]
				if first.Rounds == 0 || []*study.Plan{p, other}[i].Workload(first.Workload).Pack.Startup {
					continue // how many starts there are depends on how long they take
				}
				var order []string
				for n := 0; n <= b.Rounds(); n++ { // 0 is that of the block
					indices := upTo(len(b.Slots))
					if n > 0 {
						indices = lists.Map(b.Round(n), func(i int) int { return i + 1 })
					}
					order = append(order, strings.Join(lists.Map(indices, func(i int) string { return b.Slots[i-1].Environment }), " "))
				}
				key := fmt.Sprint(first.Block, first.Workload, first.Level, slices.Sorted(slices.Values(environmentsOf(b))))
				if known := orders[key]; i == 1 && known != "" && known != fmt.Sprint(order) {
					t.Fatalf("%s: the orders are %v, and %s in the other plan", key, order, known)
				}
				orders[key] = fmt.Sprint(order)
			}
		}
	})
}

func TestOrdersOfRoundsAreUniformAndIndependent(t *testing.T) {
	const blocks, rounds = 1500, 16
	s := schedule(t, alternating(planOf(two, []string{"a", "b", "c", "d"}, "cpu:block", "disk:block")))
	for _, workload := range []string{"cpu", "disk"} {
		counts, next := map[string]int{}, map[[2]int]int{}
		before := 3
		for block := 1; block <= blocks; block++ {
			b := Batch{Slots: make([]Slot, 4), seed: s.batchSeed(block, subject.Place{Workload: workload})}
			for i := range b.Slots {
				b.Slots[i].Rounds = rounds
			}
			for n := 1; n <= rounds; n++ {
				order := b.Round(n)
				counts[fmt.Sprint(order)]++
				next[[2]int{before, order[0]}]++
				before = order[0]
			}
		}
		if chi := chiSquared(counts, blocks*rounds, 24); chi > 58 { // 23 degrees of freedom, p = 0.0001
			t.Errorf("%s: chi-squared of the orders is %.1f", workload, chi)
		}
		if chi := chiSquared(next, blocks*rounds, 16); chi > 44 { // 15 degrees of freedom, p = 0.0001
			t.Errorf("%s: chi-squared of neighbouring rounds is %.1f", workload, chi)
		}
	}
}

func TestRoundsOfHalfTheLengthLieBetweenOthersAtRandom(t *testing.T) {
	const blocks, rounds = 2000, 16
	s := schedule(t, alternating(planOf(two, []string{"a", "b", "c"}, "cpu:block")))
	after, orders := map[string]int{}, map[string]int{}
	for block := 1; block <= blocks; block++ {
		b := Batch{Slots: []Slot{{Rounds: rounds}, {Rounds: rounds}, {Rounds: rounds}}, seed: s.batchSeed(block, subject.Place{Workload: "cpu"})}
		n := 0
		for number := 1; number <= rounds; number++ {
			if order := b.HalfRound(number); order != nil {
				n++
				after[fmt.Sprint(number)]++
				orders[fmt.Sprint(order)]++
			}
		}
		if n != rounds/4 {
			t.Fatalf("block %d has %d rounds of half the length", block, n)
		}
	}
	if after["16"] > 0 {
		t.Error("one comes after the last round")
	}
	if chi := chiSquared(after, blocks*rounds/4, rounds-1); chi > 42 { // 14 degrees of freedom, p = 0.0001
		t.Errorf("chi-squared of the places is %.1f", chi)
	}
	if chi := chiSquared(orders, blocks*rounds/4, 6); chi > 26 { // 5 degrees of freedom, p = 0.0001
		t.Errorf("chi-squared of the orders is %.1f", chi)
	}
	for number := range 4 {
		few := Batch{Slots: make([]Slot, 3)}
		if few.Slots[0].Rounds = 3; few.HalfRound(number) != nil {
			t.Errorf("3 rounds have one of half the length after %d", number)
		}
	}
}

// A journal that ends within a batch: what is missing is a batch of its own.
func TestTheRestOfATornBatchIsABatch(t *testing.T) {
	p := alternating(planOf(two, []string{"a", "b", "c"}, "cpu:block"))
	s := schedule(t, p)
	whole, _ := s.NextBatch(0)
	w := newWorld(noise(1, .1, nil))
	s = schedule(t, p)
	s.Record(w.run(whole.Slots[0]))
	rest, ok := s.NextBatch(0)
	if !ok || !slices.Equal(rest.Slots, whole.Slots[1:]) || rest.Rounds() != 4 {
		t.Errorf("after the first of %+v comes %+v", whole, rest)
	}
}

func TestAnEnvironmentWithItsVerdictLeavesTheRounds(t *testing.T) {
	s := schedule(t, alternating(planOf(upTo60, []string{"native", "docker", "vm"}, "cpu:block")))
	clear, noisy := noise(1, .001, map[string]float64{"docker": .5}), noise(2, .5, nil)
	all := batches(t, s, newWorld(func(s Slot) float64 {
		if s.Environment == "vm" {
			return noisy(s)
		}
		return clear(s)
	}))
	for _, b := range all {
		if has := slices.Contains(environmentsOf(b), "docker"); has != (b.Slots[0].Block <= 6) {
			t.Errorf("block %d has %v", b.Slots[0].Block, environmentsOf(b))
		}
	}
	if len(all) != 60 {
		t.Errorf("%d batches", len(all))
	}
}

// After the first block, which has one round, an environment that starts slowly takes
// part in the last rounds alone.
func TestSlowStartsTakePartInFewerRounds(t *testing.T) {
	took := map[string]time.Duration{"native": time.Millisecond, "docker": 4 * time.Second, "vm": 20 * time.Second}
	for baseline, want := range map[string][]string{
		"native": {"start: native, docker, vm alternating, 1 round", "start: native, docker, vm alternating, 4 rounds, docker in the last 2, vm in the last 1"},
		"vm":     {"start: native, docker, vm alternating, 1 round", "start: native, docker, vm alternating, 1 round"},
	} {
		p := alternating(planOf(study.Blocks{Min: 3, Max: 3, Fixed: true}, []string{"native", "docker", "vm"}, "start:block:startup"))
		p.Baseline = baseline
		w := newWorld(noise(1, .1, nil))
		w.starts = func(s Slot) time.Duration {
			if s.Block == 2 { // how long later starts take decides nothing
				return 3 * time.Second
			}
			return took[s.Environment]
		}
		for n, b := range batches(t, schedule(t, p), w) {
			slots := slices.SortedFunc(slices.Values(b.Slots), func(x, y Slot) int { return cmp.Compare(took[x.Environment], took[y.Environment]) })
			if got := BatchWords(slots); got != want[min(n, 1)] {
				t.Errorf("baseline %s, block %d: %s", baseline, n+1, got)
			}
			var order []string
			for number := 1; number <= b.Rounds(); number++ {
				order = append(order, fmt.Sprint(len(b.Round(number))))
			}
			if got := strings.Join(order, " "); n > 0 && got != map[string]string{"native": "1 1 2 3", "vm": "3"}[baseline] {
				t.Errorf("baseline %s: environments in the rounds: %s", baseline, got)
			}
		}
	}
}

func TestEnvironmentsShareTheTimeOfStartsInABudget(t *testing.T) {
	took := map[string]time.Duration{"native": time.Second, "docker": 1500 * time.Millisecond, "gvisor": 5 * time.Second}
	for budget, want := range map[time.Duration]string{0: "native 4, docker 4, gvisor 2", 3 * time.Minute: "native 3, docker 2, gvisor 1", time.Minute: "native 2, docker 1, gvisor 1"} {
		p := alternating(planOf(study.Blocks{Min: 2, Max: 2, Fixed: true}, []string{"native", "docker", "gvisor"}, "start:block:startup"))
		p.Design.Budget = budget
		w := newWorld(noise(1, .1, nil))
		w.starts = func(s Slot) time.Duration { return took[s.Environment] }
		all := batches(t, schedule(t, p), w)
		rounds := map[string]int{}
		for _, s := range all[len(all)-1].Slots {
			rounds[s.Environment] = s.Rounds
		}
		if got := fmt.Sprintf("native %d, docker %d, gvisor %d", rounds["native"], rounds["docker"], rounds["gvisor"]); got != want {
			t.Errorf("with a budget of %v: %s, not %s", budget, got, want)
		}
	}
}

func TestWhatIsOneSampleAlternatesAsTrials(t *testing.T) {
	p := alternating(planOf(two, []string{"a", "b"}, "start:block:startup", "db:trial", "cold:trial", "kept:block", "cpu:block"))
	p.Workload("cold").Pack.Cold, p.Workload("kept").Pack.Cold = true, true
	p.Workload("cpu").Levels = []study.Level{{Name: "alone"}, {Name: "beside", Neighbours: 2}}
	p.Sampling.Traced = 1
	rounds := map[string]int{}
	last := Slot{}
	for _, b := range batches(t, schedule(t, p), newWorld(noise(1, .1, nil))) {
		slot := b.Slots[0]
		key := strings.TrimSpace(slot.Workload + " " + slot.Level)
		if slot.Traced {
			key = "traced"
		}
		rounds[key] = max(rounds[key], slot.Rounds)
		if slot.Position%2 == 0 && len(b.Slots) == 1 && (last.Workload != slot.Workload || last.Level != slot.Level) {
			t.Errorf("%+v does not follow a trial of its own cell", slot)
		}
		last = b.Slots[len(b.Slots)-1]
	}
	if got, want := fmt.Sprint(rounds), fmt.Sprint(map[string]int{"start": 4, "db": 0, "cold": 4, "kept": 0, "cpu alone": 4, "cpu beside": 4, "traced": 0}); got != want {
		t.Errorf("rounds are %s, want %s", got, want)
	}
}

// The trials of a batch lie over each other in time: a batch of three that takes
// three seconds is three seconds of the run, not nine.
func TestTheTimeOfABatchCountsOnce(t *testing.T) {
	for name, times := range map[string]func(i int) (from, to time.Duration){
		"all from its beginning to its end": func(int) (time.Duration, time.Duration) { return 0, 3 * time.Second },
		"all from their own beginnings": func(i int) (time.Duration, time.Duration) {
			return time.Duration(i) * time.Second / 10, 3 * time.Second
		},
		"one is over at once": func(i int) (time.Duration, time.Duration) { return 0, 3 * time.Second / time.Duration(1+i%2*29) },
		"one after the other": func(i int) (time.Duration, time.Duration) {
			return time.Duration(i) * time.Second, time.Duration(i+1) * time.Second
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := schedule(t, alternating(planOf(study.Blocks{Min: 8, Max: 8, Fixed: true}, []string{"a", "b", "c"}, "cpu:block", "disk:block")))
			now := began
			var journal []rundir.Trial
			for range 4 { // two blocks
				b, _ := s.NextBatch(0)
				for i, slot := range b.Slots {
					from, to := times(i)
					trial := rundir.Trial{Block: slot.Block, Environment: slot.Environment, Workload: slot.Workload, Status: rundir.OK, Started: now.Add(from), Ended: now.Add(to)}
					s.Record(trial)
					journal = append(journal, trial)
				}
				now = now.Add(3 * time.Second)
			}
			if got := s.Progress(0).Remaining; got != 6*6*time.Second {
				t.Errorf("%v are left of six blocks of six seconds", got)
			}
			if got := rundir.Elapsed(journal); got != 12*time.Second {
				t.Errorf("the trials took %v of twelve seconds", got)
			}
		})
	}
}
