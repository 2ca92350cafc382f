package schedule

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/base/quantity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
	"tare/internal/workload"
)

var upTo60 = study.Blocks{Min: 4, Max: 60}

func blocksOf(trials []rundir.Trial, environment, workload string) (blocks []int) {
	for _, t := range trials {
		if t.Environment == environment && t.Workload == workload {
			blocks = append(blocks, t.Block)
		}
	}
	return blocks
}

func upTo(n int) (all []int) {
	for b := 1; b <= n; b++ {
		all = append(all, b)
	}
	return all
}

func TestAnEnvironmentLeavesWhenItsVerdictIsInAndTheBaselineStays(t *testing.T) {
	p := planOf(upTo60, []string{"native", "docker", "vm"}, "cpu:block")
	s := schedule(t, p)
	// docker is far off and clear at the first look; vm is too
	// noisy for any verdict.
	clear, noisy := noise(1, .001, map[string]float64{"docker": .5}), noise(2, .5, nil)
	trials := play(t, s, newWorld(func(s Slot) float64 {
		if s.Environment == "vm" {
			return noisy(s)
		}
		return clear(s)
	}))
	for name, last := range map[string]int{"docker": 6, "vm": 60, "native": 60} {
		if got := blocksOf(trials, name, "cpu"); !slices.Equal(got, upTo(last)) {
			t.Errorf("%s ran in blocks %v, want 1 to %d", name, got, last)
		}
	}
	if want := "all 60 blocks are done; 1 of 2 verdicts reached"; s.Why() != want && s.Why() != strings.Replace(want, "verdicts", "verdict", 1) {
		t.Errorf("why: %s", s.Why())
	}
}

func TestDropNeverGoesOnToTheMaximum(t *testing.T) {
	p := planOf(study.Blocks{Min: 8, Max: 30}, []string{"native", "docker"}, "cpu:block")
	p.Design.Drop = "never"
	s := schedule(t, p)
	if n := len(play(t, s, newWorld(noise(1, .001, nil)))); n != 60 {
		t.Errorf("%d trials, want 60", n)
	}
	if s.Why() != "all 30 blocks are done; all verdicts are reached" {
		t.Error(s.Why())
	}
}

func TestNoVerdictEndsARunBeforeTheMinimum(t *testing.T) {
	s := schedule(t, planOf(study.Blocks{Min: 11, Max: 60}, []string{"native", "docker"}, "cpu:block"))
	if n := len(play(t, s, newWorld(noise(1, .001, nil)))); n != 22 {
		t.Errorf("%d trials, want 22", n)
	}
	if s.Why() != "all verdicts are reached after 11 blocks" {
		t.Error(s.Why())
	}
}

func TestACellThatIsDecidedLeavesTheOthersAlone(t *testing.T) {
	s := schedule(t, planOf(upTo60, []string{"native", "docker"}, "cpu:block", "disk:trial"))
	quiet, noisy := noise(1, .001, nil), noise(2, .3, nil)
	trials := play(t, s, newWorld(func(s Slot) float64 {
		if s.Workload == "disk" {
			return noisy(s)
		}
		return quiet(s)
	}))
	if a, b := len(blocksOf(trials, "native", "cpu")), len(blocksOf(trials, "native", "disk")); a != 6 || b != 60 {
		t.Errorf("cpu ran in %d blocks, disk in %d", a, b)
	}
}

func TestAnOpenEndedRunEndsWithItsVerdict(t *testing.T) {
	s := schedule(t, planOf(study.Blocks{Min: 2, Open: true}, []string{"native", "docker"}, "cpu:block"))
	play(t, s, newWorld(noise(1, .01, map[string]float64{"docker": .2})))
	if c := s.Contrasts()[0]; c.Verdict != verdict.Slower || c.Look < 8 || c.Look > 15 {
		t.Errorf("%+v", c)
	}
}

func TestAFixedNumberOfBlocksIsRunExactly(t *testing.T) {
	s := schedule(t, planOf(study.Blocks{Min: 9, Max: 9, Fixed: true}, []string{"native", "docker"}, "cpu:block"))
	if n := len(play(t, s, newWorld(noise(1, .001, nil)))); n != 18 || s.Contrasts()[0].Verdict != verdict.Equivalent {
		t.Errorf("%d trials: %+v", n, s.Contrasts()[0])
	}
}

func TestLabelsReachTheContrasts(t *testing.T) {
	s := schedule(t, planOf(upTo60, []string{"native", "vm"}, "cpu:block"))
	s.Label("vm", "tcg")
	play(t, s, newWorld(noise(1, .001, nil)))
	if c := s.Contrasts()[0]; c.Label != "tcg" || !strings.HasPrefix(verdict.Wording(c), "under software emulation (tcg) vm") {
		t.Errorf("%+v", c)
	}
}

func TestTheBaselineAloneRunsTheMinimum(t *testing.T) {
	s := schedule(t, planOf(upTo60, []string{"native"}, "cpu:block"))
	if n := len(play(t, s, newWorld(noise(1, .001, nil)))); n != 4 || s.Why() != "4 blocks done, and there is no other environment to compare with" {
		t.Errorf("%d trials: %s", n, s.Why())
	}
}

func TestAWorkloadThatFailsFromTheStartIsGivenUp(t *testing.T) {
	p := planOf(upTo60, []string{"native", "docker", "vm"}, "cpu:block", "disk:block")
	for name, c := range map[string]struct {
		fails func(Slot) bool
		runs  map[string]int // environment/workload → blocks
	}{
		"in one environment":    {func(s Slot) bool { return s.Environment == "vm" && s.Workload == "disk" }, map[string]int{"vm/disk": 3, "docker/disk": 6, "native/disk": 6, "vm/cpu": 6}},
		"at the baseline":       {func(s Slot) bool { return s.Environment == "native" && s.Workload == "disk" }, map[string]int{"vm/disk": 3, "docker/disk": 3, "native/disk": 3, "vm/cpu": 6}},
		"everywhere":            {func(s Slot) bool { return true }, map[string]int{"vm/disk": 3, "native/cpu": 3}},
		"only now and then":     {func(s Slot) bool { return s.Environment == "vm" && s.Block%2 == 0 }, map[string]int{"vm/disk": 11, "native/cpu": 11, "docker/cpu": 6}},
		"twice, and then works": {func(s Slot) bool { return s.Environment == "vm" && s.Block < 3 }, map[string]int{"vm/disk": 8, "docker/disk": 6}},
	} {
		t.Run(name, func(t *testing.T) {
			s, w := schedule(t, p), newWorld(noise(1, .001, nil))
			w.fails = c.fails
			trials := play(t, s, w)
			for place, want := range c.runs {
				e, wl, _ := strings.Cut(place, "/")
				if got := len(blocksOf(trials, e, wl)); got != want {
					t.Errorf("%s ran in %d blocks, want %d (%s)", place, got, want, s.Why())
				}
			}
		})
	}
}

func TestAKnownLimitIsTriedOnce(t *testing.T) {
	s := schedule(t, planOf(upTo60, []string{"native", "docker", "vm"}, "cpu:block"))
	w := newWorld(noise(1, .001, nil))
	n := 0
	for {
		slot, ok := s.Next(0)
		if !ok {
			break
		}
		trial := w.run(slot)
		if slot.Environment == "vm" {
			trial.Status, trial.Reason, trial.Metrics = rundir.Skipped, "no such device in a guest", nil
			n++
		}
		s.Record(trial)
	}
	want := []GivenUp{{"vm", "cpu", "", 1, "no such device in a guest"}}
	if p := s.Progress(0); n != 1 || !slices.Equal(p.GivenUp, want) || p.Decided != 1 || p.Without != 1 || p.Inconclusive != 0 {
		t.Errorf("%d trials in vm, %+v", n, p)
	}
}

func TestWhatCanHaveNoVerdictTakesFewBlocksAndIsNotCountedAsOpen(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*study.Plan)
		runs map[string]int // environment/workload → blocks
		why  string
	}{
		"verdicts end the run": {func(p *study.Plan) {}, map[string]int{"gvisor/disk": 4, "docker/disk": 6, "native/disk": 6, "gvisor/cpu": 6},
			"all verdicts are reached after 6 blocks; 1 has none (†)"},
		"a fixed number is run in full": {func(p *study.Plan) { p.Design.Blocks = study.Blocks{Min: 8, Max: 8, Fixed: true} }, map[string]int{"gvisor/disk": 8, "docker/disk": 8},
			"all 8 blocks are done; all verdicts are reached; 1 has none (†)"},
		"nothing else is compared": {func(p *study.Plan) { p.Environments, p.Workloads = p.Environments[:2], p.Workloads[1:] }, map[string]int{"gvisor/disk": 4, "native/disk": 4},
			"no comparison can have a verdict, after 4 blocks; 1 has none (†)"},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(upTo60, []string{"native", "gvisor", "docker"}, "cpu:block", "disk:block")
			c.set(p)
			s := schedule(t, p)
			s.Withhold(map[subject.Cell]bool{{Environment: "gvisor", Workload: "disk"}: true})
			trials := play(t, s, newWorld(noise(1, .001, nil)))
			for place, want := range c.runs {
				e, w, _ := strings.Cut(place, "/")
				if got := len(blocksOf(trials, e, w)); got != want {
					t.Errorf("%s ran in %d blocks, want %d", place, got, want)
				}
			}
			if p := s.Progress(0); p.Without != 1 || p.Open != 0 || s.Why() != c.why {
				t.Errorf("%+v: %s", p, s.Why())
			}
		})
	}
}

func TestTheBudgetEndsARun(t *testing.T) {
	p := planOf(upTo60, []string{"native", "docker"}, "cpu:block")
	for budget, made := range map[time.Duration]int{
		0:                        120,
		time.Nanosecond:          1, // elapsed is 0: there is time for a first trial
		20 * time.Second:         20,
		21900 * time.Millisecond: 20, // the next block takes two seconds
		22 * time.Second:         22,
	} {
		p.Design.Budget = budget
		s := schedule(t, p)
		trials := play(t, s, newWorld(noise(1, .5, nil)))
		if len(trials) != made {
			t.Errorf("budget %s: %d trials, want %d", budget, len(trials), made)
		}
		if budget > 0 && !strings.HasPrefix(s.Why(), "the budget of "+budget.String()+" is spent; 0 of 1 verdict reached") {
			t.Error(s.Why())
		}
	}
	p.Design.Order, p.Design.Budget = "sequential", 20*time.Second
	trials := play(t, schedule(t, p), newWorld(noise(1, .5, nil)))
	if a, b := len(blocksOf(trials, "native", "cpu")), len(blocksOf(trials, "docker", "cpu")); a != 10 || b != 10 {
		t.Errorf("sequential: %d and %d blocks, want 10 and 10", a, b)
	}
}

func TestSequentialOrderRunsOneEnvironmentAfterAnother(t *testing.T) {
	p := planOf(study.Blocks{Min: 2, Max: 5}, []string{"native", "docker"}, "cpu:block", "disk:trial")
	p.Design.Order = "sequential"
	trials := play(t, schedule(t, p), newWorld(noise(1, .1, nil)))
	if len(trials) != 20 {
		t.Fatalf("%d trials", len(trials))
	}
	for i, trial := range trials {
		if (trial.Environment == "native") != (i < 10) || trial.Block != i%10/2+1 || trial.Position != i/10*2+i%2+1 {
			t.Errorf("trial %d is %+v", i, trial)
		}
	}
}

func TestPlansThatCannotWorkAreRefused(t *testing.T) {
	p := planOf(upTo60, []string{"native", "docker"}, "cpu:block")
	if _, err := New(p, []string{"docker"}); err == nil || !strings.Contains(err.Error(), `the baseline "native" is not usable here`) {
		t.Error(err)
	}
	if _, err := New(p, []string{"native", "dokcer"}); err == nil || !strings.Contains(err.Error(), `"dokcer" is not in the study`) {
		t.Error(err)
	}
	p.Design.Order, p.Design.Blocks = "sequential", study.Blocks{Min: 8, Open: true}
	if _, err := New(p, []string{"native"}); err == nil || !strings.Contains(err.Error(), "needs a maximum of blocks") {
		t.Error(err)
	}
}

func TestProgressCountsAndProjects(t *testing.T) {
	p := planOf(upTo60, []string{"native", "docker"}, "cpu:block")
	s, w := schedule(t, p), newWorld(noise(1, .001, nil))
	if got := s.Progress(0); got.Open != 1 || got.NextLook != 6 || got.Done != 0 || got.Remaining != 0 || got.MaxBlock != 60 {
		t.Errorf("at the start: %+v", got)
	}
	for range 3 {
		slot, _ := s.Next(0)
		s.Record(w.run(slot))
	}
	// Four whole blocks of two seconds and the rest of the second are left until
	// the first look, and no more can be said.
	if got := s.Progress(0); got.Block != 2 || got.Done != 3 || got.Left != 1 || got.NextLook != 6 || got.Remaining != 9*time.Second {
		t.Errorf("in the second block: %+v", got)
	}
	play(t, s, w)
	if got := s.Progress(0); got.Decided != 1 || got.Open != 0 || got.Block != 6 || got.Done != 12 || got.Remaining != 0 || got.NextLook != 0 {
		t.Errorf("at the end: %+v", got)
	}
}

func TestThePauseBeforeAResumeIsNotPartOfThePace(t *testing.T) {
	s, w := schedule(t, planOf(upTo60, []string{"native", "docker"}, "cpu:block")), newWorld(noise(1, .5, nil))
	for i := range 21 {
		if i == 11 {
			w.now = w.now.Add(10 * time.Hour)
		}
		slot, _ := s.Next(0)
		s.Record(w.run(slot))
	}
	if got := s.Progress(0).Remaining; got > 2*time.Minute {
		t.Errorf("%s to go", got)
	}
}

func TestExpectationsFollowFromThePlan(t *testing.T) {
	second := func(Slot) time.Duration { return time.Second }
	for name, c := range map[string]struct {
		blocks study.Blocks
		change func(*study.Plan)
		want   Expectation
		words  string
	}{
		"usual":      {upTo60, nil, Expectation{MinBlocks: 6, MaxBlocks: 60, MinTrials: 24, MaxTrials: 240, Min: 24 * time.Second, Max: 4 * time.Minute, Interval: 16 * time.Second, IntervalBlocks: 4}, "6 to 60 blocks, 24 to 240 trials, about 24s to 4m0s, depending on when verdicts are reached"},
		"fixed":      {study.Blocks{Min: 9, Max: 9, Fixed: true}, nil, Expectation{MinBlocks: 9, MaxBlocks: 9, MinTrials: 36, MaxTrials: 36, Min: 36 * time.Second, Max: 36 * time.Second, Interval: 36 * time.Second, IntervalBlocks: 9}, "9 blocks, 36 trials, about 36s"},
		"open":       {study.Blocks{Min: 8, Open: true}, nil, Expectation{MinBlocks: 8, MinTrials: 32, Min: 32 * time.Second, Interval: 32 * time.Second, IntervalBlocks: 8}, "from 8 blocks and 32 trials on (at least 32s), without a maximum"},
		"budget":     {upTo60, func(p *study.Plan) { p.Design.Budget = time.Minute }, Expectation{MinBlocks: 6, MaxBlocks: 60, MinTrials: 24, MaxTrials: 240, Min: 24 * time.Second, Max: 4 * time.Minute, Budget: time.Minute, Interval: 16 * time.Second, IntervalBlocks: 4}, "6 to 60 blocks, 24 to 240 trials, about 24s to 4m0s, depending on when verdicts are reached; the budget ends the run after 1m0s"},
		"sequential": {study.Blocks{Min: 8, Max: 10}, func(p *study.Plan) { p.Design.Order = "sequential" }, Expectation{MinBlocks: 10, MaxBlocks: 10, MinTrials: 40, MaxTrials: 40, Min: 40 * time.Second, Max: 40 * time.Second, Interval: 40 * time.Second, IntervalBlocks: 10}, "10 blocks, 40 trials, about 40s"},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(c.blocks, []string{"native", "docker"}, "cpu:block", "disk:trial")
			if c.change != nil {
				c.change(p)
			}
			got := schedule(t, p).Expected(second)
			if len(got.FirstBlock) != 4 {
				t.Errorf("the first block has %d trials", len(got.FirstBlock))
			}
			got.FirstBlock = nil
			if got.Words() != c.words {
				t.Errorf("%q, want %q", got.Words(), c.words)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// plans draws studies of every shape.
func plans(t *rapid.T) *study.Plan {
	environments := []string{"native", "docker", "gvisor", "vm"}[:rapid.IntRange(1, 4).Draw(t, "environments")]
	var workloads []string
	for i := range rapid.IntRange(1, 4).Draw(t, "workloads") {
		w := fmt.Sprintf("w%d:%s", i, rapid.SampledFrom([]string{"trial", "block", "run"}).Draw(t, "fresh"))
		if rapid.IntRange(0, 4).Draw(t, "startup") == 0 {
			w += ":startup"
		}
		workloads = append(workloads, w)
	}
	blocks := rapid.SampledFrom([]study.Blocks{{Min: 2, Max: 12}, {Min: 8, Max: 15}, {Min: 7, Max: 7, Fixed: true}, {Min: 3, Max: 20}, {Min: 2, Open: true}}).Draw(t, "blocks")
	p := planOf(blocks, environments, workloads...)
	p.Seed = rapid.Uint64().Draw(t, "seed")
	p.Design.Drop = rapid.SampledFrom([]string{"decided", "never"}).Draw(t, "drop")
	p.Design.Budget = rapid.SampledFrom([]time.Duration{0, 50 * time.Second, 5 * time.Minute}).Draw(t, "budget")
	if blocks.Open {
		p.Design.Budget = 2 * time.Minute // or it may never end
	} else {
		p.Design.Order = rapid.SampledFrom([]string{"interleaved", "alternating", "sequential"}).Draw(t, "order")
	}
	if p.Design.Order == study.Alternating {
		alternating(p)
	}
	for i := range p.Workloads {
		if rapid.Bool().Draw(t, "two levels") {
			p.Workloads[i].Levels = []study.Level{{Name: "n=1"}, {Name: "n=2"}}
		}
		if rapid.Bool().Draw(t, "two metrics") {
			p.Workloads[i].Pack.Metrics = append(p.Workloads[i].Pack.Metrics, workload.Metric{Name: "other", Better: "higher", Primary: true})
		}
	}
	if p.Design.Order == study.Alternating && rapid.Bool().Draw(t, "little memory") {
		crowded(p, rapid.IntRange(1, 5).Draw(t, "memory"))
	}
	return p
}

// crowded lets each instance need one byte of so many.
func crowded(p *study.Plan, available int) *study.Plan {
	p.AvailableMemory = quantity.Bytes(available)
	for i := range p.Environments {
		p.Environments[i].Limits.Memory = 1
	}
	for i := range p.Workloads {
		for l := range p.Workloads[i].Levels {
			p.Workloads[i].Levels[l].Shape = study.Shape{Copies: 1, Together: true}
		}
	}
	return p
}

func worlds(t *rapid.T) func() *world {
	seed := rapid.Uint64().Draw(t, "noise")
	sd := rapid.SampledFrom([]float64{.001, .02, .2}).Draw(t, "sd")
	failing := rapid.SampledFrom([]float64{0, .1, .6}).Draw(t, "failing")
	return func() *world {
		w := newWorld(noise(seed, sd, map[string]float64{"docker": .1}))
		w.starts = func(s Slot) time.Duration { return time.Duration(4e9 * noise(seed+3, 1, nil)(s)) }
		w.fails = func(s Slot) bool {
			return noise(seed+1, 1, nil)(s) < math.Exp(-1.5) && failing > 0 || noise(seed+2, 1, nil)(s) < 1 && failing > .5 && s.Environment == "vm"
		}
		return w
	}
}

func TestARunResumesAsItWouldHaveGoneOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, world := plans(t), worlds(t)
		whole := play(t, schedule(t, p), world())
		at := rapid.IntRange(0, len(whole)).Draw(t, "broken off after")
		s, w := schedule(t, p), world()
		for _, trial := range whole[:at] {
			s.Record(trial)
		}
		if at > 0 {
			w.now = whole[at-1].Ended
		}
		if p.Design.Budget > 0 && w.now.Sub(began) >= p.Design.Budget {
			return // what is missing of a batch would have no sample any more
		}
		if diff := cmp.Diff(whole[at:], play(t, s, w)); diff != "" && at < len(whole) {
			t.Fatalf("after %d of %d trials: %s", at, len(whole), diff)
		}
	})
}

func TestABlockRunsWhatIsLiveOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plans(t)
		startup := map[string]bool{}
		fresh := map[string]string{}
		for _, w := range p.Workloads {
			startup[w.Name], fresh[w.Name] = w.Pack.Startup && w.Fresh != "trial", w.Fresh
		}
		type key struct {
			block int
			subject.Cell
		}
		seen, positions := map[key]bool{}, map[[2]int]bool{}
		others := map[[3]any]bool{} // block, environment, lifetime: a shared instance has run something
		shared := map[int][]string{}
		for _, trial := range play(t, schedule(t, p), worlds(t)()) {
			k := key{trial.Block, trial.Cell()}
			at := [2]int{trial.Block, trial.Position}
			if seen[k] || positions[at] {
				t.Fatalf("%+v comes twice", trial)
			}
			seen[k], positions[at] = true, true
			if fresh[trial.Workload] == "trial" {
				continue
			}
			instance := [3]any{trial.Block, trial.Environment}
			if p.Design.Order == study.Alternating {
				instance[2] = fresh[trial.Workload]
			}
			if startup[trial.Workload] && others[instance] {
				t.Fatalf("%+v comes after other work in its instance", trial)
			}
			others[instance] = others[instance] || !startup[trial.Workload]
			if p.Design.Order == study.Alternating {
				continue
			}
			if order := shared[trial.Block]; len(order) == 0 || order[len(order)-1] != trial.Environment {
				if slices.Contains(order, trial.Environment) {
					t.Fatalf("block %d leaves %s and comes back to it", trial.Block, trial.Environment)
				}
				shared[trial.Block] = append(order, trial.Environment)
			}
		}
	})
}

// Every order must be equally likely, and blocks independent of each other.
func TestOrdersAreUniformAndIndependent(t *testing.T) {
	const blocks = 24000
	for _, seed := range []uint64{0, 1, 2, 42, 1 << 63} {
		counts, next := map[string]int{}, map[[2]string]int{}
		before := "d"
		for b := uint64(1); b <= blocks; b++ {
			names := []string{"a", "b", "c", "d"}
			shuffle(newOrder(seed, b), names)
			counts[strings.Join(names, "")]++
			next[[2]string{before, names[0]}]++
			before = names[0]
		}
		if chi := chiSquared(counts, blocks, 24); chi > 58 { // 23 degrees of freedom, p = 0.0001
			t.Errorf("seed %d: chi-squared of the orders is %.1f", seed, chi)
		}
		if chi := chiSquared(next, blocks, 16); chi > 44 { // 15 degrees of freedom, p = 0.0001
			t.Errorf("seed %d: chi-squared of neighbouring blocks is %.1f", seed, chi)
		}
	}
}

func chiSquared[K comparable](counts map[K]int, total, classes int) float64 {
	expected := float64(total) / float64(classes)
	chi := 0.0
	for _, n := range counts {
		chi += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	return chi + float64(classes-min(classes, len(counts)))*expected
}
