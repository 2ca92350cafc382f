package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
)

// alternating makes trials with rounds: speed is that of the machine in each block
// and round, and value what an environment makes of it.
func alternating(p *study.Plan, blocks, rounds int, value func(environment string, block, round int) float64) (trials []rundir.Trial) {
	for block := 1; block <= blocks; block++ {
		for _, e := range p.Environments {
			t := rundir.Trial{Block: block, Environment: e.Name, Workload: "w", Status: rundir.OK}
			var all []float64
			for round := 1; round <= rounds; round++ {
				v := value(e.Name, block, round)
				all = append(all, v)
				t.Rounds = append(t.Rounds, rundir.Round{Number: round, Metrics: map[string]float64{"time": v}})
			}
			t.Metrics = map[string]float64{"time": stats.Median(all)}
			trials = append(trials, t)
		}
	}
	return trials
}

// drifting is a machine whose speed changes tenfold from round to round.
func drifting(seed uint64, effect map[string]float64, noise float64) func(string, int, int) float64 {
	speeds := map[[2]int]float64{}
	rng := rand.New(rand.NewPCG(seed, 7))
	return func(environment string, block, round int) float64 {
		at := [2]int{block, round}
		if _, known := speeds[at]; !known {
			speeds[at] = 2.3 * rng.Float64()
		}
		return math.Exp(speeds[at] + effect[environment] + noise*rng.NormFloat64())
	}
}

func TestABlockIsTheLocationOfItsRounds(t *testing.T) {
	p := planOf(usual, "native", "docker")
	p.Design.Drop = "never" // all blocks count
	trials := alternating(p, 12, 16, drifting(1, map[string]float64{"docker": .05}, .02))
	c := one(t, p, trials)
	if c.Verdict != Slower || c.N != 12 || c.Low > .05 || c.High < .05 {
		t.Errorf("%s from %d blocks: %.4f [%.4f, %.4f]", c.Verdict, c.N, c.Estimate, c.Low, c.High)
	}
	for i := range trials {
		trials[i].Rounds = nil
	}
	if whole := one(t, p, trials); whole.High-whole.Low < 1.5*(c.High-c.Low) {
		t.Errorf("[%.4f, %.4f] with rounds, [%.4f, %.4f] without", c.Low, c.High, whole.Low, whole.High)
	}
}

func TestWithoutRoundsOnBothSidesTheTrialsAreCompared(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*rundir.Trial)
	}{
		{"one side has none", func(r *rundir.Trial) { r.Rounds = nil }},
		{"no round has the metric", func(r *rundir.Trial) {
			for i := range r.Rounds {
				r.Rounds[i].Metrics = map[string]float64{"other": 1}
			}
		}},
		{"a round has no ratio", func(r *rundir.Trial) { r.Rounds[3].Metrics["time"] = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(usual, "native", "docker")
			trials := alternating(p, 8, 8, drifting(2, nil, .01))
			var want []float64
			for i := 0; i < len(trials); i += 2 {
				c.change(&trials[i+1])
				want = append(want, math.Log(trials[i+1].Metrics["time"]/trials[i].Metrics["time"]))
			}
			if got := one(t, p, trials); math.Abs(got.Estimate-stats.NewWalsh(want).Median()) > 1e-9 || len(codes(got)) > 0 {
				t.Errorf("%.5f with the warnings %v; of the trials %.5f", got.Estimate, codes(got), stats.NewWalsh(want).Median())
			}
		})
	}
}

func TestTooFewCommonRoundsGiveNoPair(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := alternating(p, 9, 8, drifting(3, nil, .01))
	for i := range 4 { // rounds 1 to 4 of 8 are half of them
		delete(trials[1].Rounds[i].Metrics, "time")
	}
	if c := one(t, p, trials); c.N != 9 || len(codes(c)) > 0 {
		t.Errorf("half of the rounds: %d blocks, %v", c.N, codes(c))
	}
	delete(trials[0].Rounds[7].Metrics, "time")
	if c := one(t, p, trials); c.N != 8 || !slices.Equal(codes(c), []string{FewRounds}) {
		t.Errorf("fewer: %d blocks, %v", c.N, codes(c))
	}
}

// An environment that starts slowly takes part in the last rounds alone: they are
// all that can be compared.
func TestRoundsThatASideWasNotToTakePartInAreNotMissing(t *testing.T) {
	p := planOf(usual, "native", "vm")
	trials := alternating(p, 9, 8, drifting(3, map[string]float64{"vm": .5}, .01))
	for i := range trials {
		if t := &trials[i]; t.Environment == "vm" {
			t.Rounds = t.Rounds[7:]
		}
	}
	c := one(t, p, trials)
	if c.N != 9 || len(codes(c)) > 0 || *c.Rounds != (Rounds{1, 1}) || math.Abs(c.Estimate-.5) > .03 {
		t.Errorf("%d blocks of %v, %.3f, %v", c.N, c.Rounds, c.Estimate, codes(c))
	}
}

func TestPartsInSeveralOrdersAreTheirMeanInEachRound(t *testing.T) {
	p := planOf(usual, "native", "a", "b", "ab")
	p.Steps = []study.Step{{Part: "x", Environment: "a", Base: "native"}, {Part: "x", Environment: "ab", Base: "b"}, {Environment: "ab", Base: "native"}}
	trials := alternating(p, 8, 16, drifting(4, map[string]float64{"a": .02, "b": .1, "ab": .16}, .001))
	for _, c := range Contrasts(p, trials, rundir.Manifest{}) {
		if want := map[string]float64{"x": .04, "": .16}[c.Part]; math.Abs(c.Estimate-want) > .002 || c.Low > want || c.High < want {
			t.Errorf("%q costs %.4f [%.4f, %.4f], want %.3f", c.Part, c.Estimate, c.Low, c.High, want)
		}
	}
}

// The levels of an environment are not adjacent in time, whatever the numbers of
// their rounds.
func TestLevelsAreComparedByTheirTrials(t *testing.T) {
	p := planOf(usual, "native")
	p.Workloads[0].Levels = []study.Level{{Name: "a"}, {Name: "b"}}
	b := emptyBook(p)
	e := newEntry(Contrast{BaseLevel: "a"}, "block")
	b.enter(e, 0, subject.Cell{Environment: "native", Workload: "w", Level: "b"}, subject.Cell{Environment: "native", Workload: "w", Level: "a"})
	var trials []float64
	for i, r := range alternating(p, 2, 8, drifting(5, nil, .1)) {
		r.Block, r.Level = 1, []string{"a", "b"}[i]
		trials = append(trials, math.Log(r.Metrics["time"]))
		b.Add(r)
	}
	if s := e.difference(1); s.Rounds != 0 || math.Abs(s.Log-(trials[1]-trials[0])) > 1e-12 {
		t.Errorf("%+v, want the difference of %v", s, trials)
	}
}

// A book that is asked after every trial says at the end what one says that is
// asked once.
func TestABookWithRoundsForgetsNothingAndKeepsNothingStale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := planOf(usual, "native", "docker", "gvisor")
		trials := alternating(p, rapid.IntRange(1, 9).Draw(t, "blocks"), rapid.IntRange(1, 5).Draw(t, "rounds"), drifting(rapid.Uint64().Draw(t, "seed"), nil, .05))
		trials = rapid.Permutation(trials).Draw(t, "order")
		b := NewBook(p, []string{"native", "docker", "gvisor"})
		for _, r := range trials {
			b.Add(r)
			b.Contrasts()
		}
		for i, want := range Contrasts(p, trials, underWay) {
			got := b.Contrasts()[i]
			if got.N != want.N || got.Verdict != want.Verdict || got.Middle != want.Middle {
				t.Fatalf("%+v, want %+v", got, want)
			}
		}
	})
}

func TestASumIsLinearInEachRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := func(name string) stats.Logs {
			return stats.Logs{Rounds: rapid.SliceOfN(rapid.Float64Range(-9, 9), 16, 16).Draw(t, name), Of: 16}
		}
		a, b, c := logs("a"), logs("b"), logs("c")
		if s := stats.SumOf(slices.Concat(stats.Difference(1, c, a), stats.Difference(-1, b, a), stats.Difference(-1, c, b))); math.Abs(s.Log) > 1e-9 || s.Rounds != 16 {
			t.Fatalf("a total without all its parts is %+v", s)
		}
		there, back := stats.SumOf(stats.Difference(1, a, b)), stats.SumOf(stats.Difference(1, b, a))
		if math.Abs(there.Log+back.Log) > 1e-9 {
			t.Fatalf("%v there, %v back", there, back)
		}
	})
}
