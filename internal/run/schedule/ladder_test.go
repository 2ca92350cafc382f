package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/study"
	"tare/internal/testing/needs"
	"tare/internal/verdict"
)

// ladderOf has as many rungs as there are parts and one more, each with the
// parts up to its own.
func ladderOf(blocks study.Blocks, parts int, workloads ...string) *study.Plan {
	rungs := []string{"from"}
	for i := range parts {
		rungs = append(rungs, fmt.Sprintf("r%d", i+1))
	}
	p := planOf(blocks, rungs, workloads...)
	for i := range parts {
		p.Steps = append(p.Steps, study.Step{Part: fmt.Sprintf("p%d", i+1), Name: fmt.Sprintf("part %d", i+1), Environment: rungs[i+1], Base: rungs[i]})
	}
	p.Steps = append(p.Steps, study.Step{Name: "all", Environment: rungs[parts], Base: rungs[0]})
	return p
}

// heights are the effects of rungs whose parts cost that much.
func heights(costs ...float64) map[string]float64 {
	effect, sum := map[string]float64{}, 0.0
	for i, c := range costs {
		sum += c
		effect[fmt.Sprintf("r%d", i+1)] = sum
	}
	return effect
}

func TestAPlanWithStepsComparesThemAndTheWhole(t *testing.T) {
	s := schedule(t, ladderOf(study.Blocks{Min: 8, Max: 60}, 3, "cpu:block"))
	play(t, s, newWorld(noise(1, .001, heights(.1, 0, .05))))
	var got []string
	for _, c := range s.Contrasts() {
		got = append(got, fmt.Sprintf("%s: %s over %s of %d %s", c.Part, c.Environment, c.Baseline, c.Family, c.Verdict))
	}
	want := []string{"p1: r1 over from of 3 slower", "p2: r2 over r1 of 3 equivalent", "p3: r3 over r2 of 3 slower", ": r3 over from of 1 slower"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// The first two parts are loud, so that they stay open; the others are quiet.
func TestARungLeavesWhenTheStepsNextToItAreDecided(t *testing.T) {
	p := ladderOf(study.Blocks{Min: 8, Max: 20}, 5, "cpu:block")
	quiet, loud := noise(1, .0005, nil), noise(2, .2, nil)
	journal := play(t, schedule(t, p), newWorld(func(s Slot) float64 {
		if s.Environment == "r1" {
			return loud(s)
		}
		return quiet(s)
	}))
	last := map[string]int{}
	for _, trial := range journal {
		last[trial.Environment] = max(last[trial.Environment], trial.Block)
	}
	if last["from"] != 20 || last["r1"] != 20 || last["r2"] != 20 {
		t.Errorf("an open step lost a side: %v", last)
	}
	for _, name := range []string{"r3", "r4", "r5"} {
		if last[name] >= 20 {
			t.Errorf("%s stayed to block %d, though all that it is compared with was decided", name, last[name])
		}
	}
}

func TestARungThatIsGivenUpEndsOnlyItsOwnSteps(t *testing.T) {
	w := newWorld(noise(1, .001, heights(.1, .1, .1, .1)))
	w.fails = func(s Slot) bool { return s.Environment == "r2" }
	s := schedule(t, ladderOf(study.Blocks{Min: 8, Max: 60}, 4, "cpu:block"))
	play(t, s, w)
	for _, c := range s.Contrasts() {
		want := verdict.Slower
		if c.Part == "p2" || c.Part == "p3" {
			want = verdict.None
		}
		if c.Verdict != want {
			t.Errorf("%q is %s: %s", c.Part, c.Verdict, c.Reason)
		}
	}
}

// A part that several orders switch on is one comparison: the mean over them.
func TestOneFamilyHasEachPartOnceHoweverManyOrders(t *testing.T) {
	p := planOf(study.Blocks{Min: 8, Max: 60}, []string{"none", "a", "b", "both"}, "cpu:block")
	p.Steps = []study.Step{
		{Part: "a", Environment: "a", Base: "none", Order: 1}, {Part: "b", Environment: "both", Base: "a", Order: 1},
		{Part: "b", Environment: "b", Base: "none", Order: 2}, {Part: "a", Environment: "both", Base: "b", Order: 2},
		{Environment: "both", Base: "none"},
	}
	s := schedule(t, p)
	play(t, s, newWorld(noise(1, .0001, map[string]float64{"a": .10, "b": .20, "both": .24})))
	for _, c := range s.Contrasts() {
		want := map[string]float64{"a": (.10 + .04) / 2, "b": (.20 + .14) / 2, "": .24}[c.Part]
		if math.Abs(c.Estimate-want) > .001 || c.Family != map[string]int{"a": 2, "b": 2, "": 1}[c.Part] || c.Part != "" && c.Orders != 2 {
			t.Errorf("%q: %.4f of %d orders in a family of %d, want %.4f", c.Part, c.Estimate, c.Orders, c.Family, want)
		}
	}
}

// The intervals of all parts hold at once, whenever the rungs leave: counted are
// runs in which any of them misses its truth. That of the whole has its own five
// percent.
func TestTheIntervalsOfAllPartsHoldAtOnce(t *testing.T) {
	needs.Minutes(t, "simulates thousands of runs")
	for i, c := range []struct {
		name  string
		noise float64
		costs []float64
	}{
		{"nothing costs anything", .08, []float64{0, 0, 0, 0}},
		{"parts within the margin leave early", .01, []float64{.001, 0, .05, .01, 0}},
		{"most parts cost something", .03, []float64{.05, -.03, .12, 0}},
	} {
		for j, profile := range profiles {
			t.Run(c.name+", "+profile.name, func(t *testing.T) {
				n := paths(t, 150)
				rng := rand.New(rand.NewPCG(uint64(i), uint64(1000+j)))
				p := ladderOf(study.Blocks{Min: 8, Max: 60}, len(c.costs), "cpu:block")
				truth := map[string]float64{}
				for k, cost := range c.costs {
					truth[fmt.Sprintf("p%d", k+1)] = cost
					truth[""] += cost
				}
				missed, alarms, wholes := 0, 0, 0
				for range n {
					p.Seed = rng.Uint64()
					miss, alarm := false, false
					for _, k := range outcomes(t, p, &host{rng: rng, sd: profile.sd, noise: c.noise, effect: heights(c.costs...)}) {
						missing := truth[k.Part] < k.Low || truth[k.Part] > k.High
						if k.Part == "" {
							if missing {
								wholes++
							}
							continue
						}
						miss = miss || missing
						alarm = alarm || truth[k.Part] == 0 && isDifferent(k)
					}
					if miss {
						missed++
					}
					if alarm {
						alarms++
					}
				}
				atMost(t, "runs in which any part's interval misses its truth", missed, n, .05)
				atMost(t, "runs in which that of the whole does", wholes, n, .05)
				atMost(t, "runs in which a part that costs nothing is called different", alarms, n, .05)
			})
		}
	}
}

// With a number of blocks that was settled beforehand the intervals of the parts
// hold at once as well, since they are read side by side.
func TestTheIntervalsOfAllPartsHoldAtOnceWithAFixedNumberOfBlocks(t *testing.T) {
	needs.Minutes(t, "simulates thousands of runs")
	n := paths(t, 600)
	rng := rand.New(rand.NewPCG(8, 9))
	p := ladderOf(study.Blocks{Min: 12, Max: 12, Fixed: true}, 4, "cpu:block")
	truth, missed, wholes := map[string]float64{"p1": .05, "p2": 0, "p3": 0, "p4": -.02, "": .03}, 0, 0
	for range n {
		p.Seed = rng.Uint64()
		miss := false
		for _, k := range outcomes(t, p, &host{rng: rng, sd: profiles[0].sd, noise: .03, effect: heights(.05, 0, 0, -.02)}) {
			switch missing := truth[k.Part] < k.Low || truth[k.Part] > k.High; {
			case missing && k.Part == "":
				wholes++
			case missing:
				miss = true
			}
		}
		if miss {
			missed++
		}
	}
	atMost(t, "runs in which any part's interval misses its truth", missed, n, .05)
	atMost(t, "runs in which that of the whole does", wholes, n, .05)
}

// A part of a ladder is decided after no more blocks than an environment of a
// study that compares as many with its baseline: the law of a single comparison
// is the same. The last of all comes no later than that of a study whose
// comparisons have the same noise each for itself. Where they share that of the
// baseline they are decided more nearly together, which a thirtieth is allowed
// for. Beyond that a difference must be within three standard errors.
func TestALadderTakesNoMoreBlocksThanAStudyOfAsManyEnvironments(t *testing.T) {
	needs.Minutes(t, "simulates thousands of runs")
	for i, c := range []struct {
		noise float64
		costs []float64
	}{
		{.02, []float64{0, 0, 0, 0, 0, 0}},
		{.02, []float64{.05, 0, .1, 0, .03, 0}},
		{.01, []float64{.01, 0, .1, 0, 0, .02}},
	} {
		n := paths(t, 100)
		rng := rand.New(rand.NewPCG(uint64(i), 4))
		ladder := ladderOf(study.Blocks{Min: 8, Max: 60}, len(c.costs), "cpu:block")
		flat := ladderOf(study.Blocks{Min: 8, Max: 60}, len(c.costs), "cpu:block")
		flat.Steps = nil
		effect := map[string]float64{}
		for k, cost := range c.costs {
			effect[fmt.Sprintf("r%d", k+1)] = cost
		}
		// blocks are those after which a comparison is decided, and after which all
		// are, the whole of a ladder included.
		blocks := func(p *study.Plan, effect map[string]float64, still string) (each, last tally) {
			for range n {
				p.Seed = rng.Uint64()
				sum, most := 0, 0
				for _, k := range outcomes(t, p, &host{rng: rng, sd: profiles[0].sd, noise: c.noise, effect: effect, still: still}) {
					if most = max(most, k.Block); k.Name != "all" {
						sum += k.Block
					}
				}
				each.add(float64(sum) / float64(len(c.costs)))
				last.add(float64(most))
			}
			return each, last
		}
		part, ladders := blocks(ladder, heights(c.costs...), "")
		environment, studies := blocks(flat, effect, "")
		_, apart := blocks(flat, effect, "from")
		t.Logf("costs %v: a part after %v blocks, an environment after %v; the last after %v and %v, without a common baseline after %v", c.costs, part, environment, ladders, studies, apart)
		beyond := func(a, b tally, allowed float64) bool {
			return a.mean() > allowed*b.mean()+3*math.Hypot(a.err(), b.err())
		}
		if beyond(part, environment, 1) {
			t.Errorf("costs %v: a part is decided after %v blocks, an environment of a study after %v", c.costs, part, environment)
		}
		if beyond(ladders, studies, 31./30) || beyond(ladders, apart, 1) {
			t.Errorf("costs %v: the ladder took %v blocks, a study of as many environments %v, without a common baseline %v", c.costs, ladders, studies, apart)
		}
	}
}

// tally is how many figures there are, their sum, and that of their squares.
type tally struct{ n, sum, squares float64 }

func (t *tally) add(x float64) { t.n, t.sum, t.squares = t.n+1, t.sum+x, t.squares+x*x }

func (t tally) mean() float64 { return t.sum / t.n }

// err is the standard error of the mean.
func (t tally) err() float64 { return math.Sqrt(math.Max(0, t.squares/t.n-t.mean()*t.mean()) / t.n) }

func (t tally) String() string { return fmt.Sprintf("%.1f ± %.1f", t.mean(), t.err()) }

// Each round of a ladder goes along it, from any rung on, up or down: the two
// environments of a step are neighbours in time, and either is the first.
func TestTheRoundsOfALadderFollowItsRungs(t *testing.T) {
	const blocks, rounds, rungs = 1000, 4, 5
	s := schedule(t, alternating(ladderOf(study.Blocks{Min: blocks, Max: blocks}, rungs-1, "cpu:block")))
	counts := map[string]int{}
	w := newWorld(noise(1, .01, nil))
	for range blocks {
		b, ok := s.NextBatch(w.now.Sub(began))
		if !ok {
			t.Fatal("the schedule has no more batches")
		}
		for n := 1; n <= b.Rounds(); n++ {
			order := lists.Map(b.Round(n), func(i int) string { return b.Slots[i].Environment })
			counts[strings.Join(order, " ")]++
		}
		for _, slot := range b.Slots {
			s.Record(w.run(slot))
		}
	}
	for _, order := range []string{"from r1 r2 r3 r4", "r3 r4 from r1 r2", "r4 r3 r2 r1 from", "r1 from r4 r3 r2"} {
		if counts[order] == 0 {
			t.Errorf("no round has the order %s", order)
		}
	}
	if chi := chiSquared(counts, blocks*rounds, 2*rungs); len(counts) != 2*rungs || chi > 34 { // 9 degrees of freedom, p = 0.0001
		t.Errorf("%d orders, chi-squared %.1f: %v", len(counts), chi, counts)
	}
}
