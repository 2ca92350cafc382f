package selftest

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/verdict"
)

func checked(t *testing.T, effects ...string) *Test {
	t.Helper()
	test, err := New(Options{Time: time.Minute, Cycle: time.Minute, Environments: []string{"native"}, Effects: effects, Margin: "2%", Sample: DefaultSample})
	if err != nil {
		t.Fatal(err)
	}
	return test
}

func TestVerdictsAreRightOrWrongByTheEffect(t *testing.T) {
	work := func(share float64) *float64 { return new(math.Log1p(share)) }
	for _, c := range []struct {
		truth *float64 // nil: a quota
		wrong map[verdict.Verdict]bool
	}{
		{work(0), map[verdict.Verdict]bool{verdict.Slower: true, verdict.Faster: true}},
		{work(.01), map[verdict.Verdict]bool{verdict.Faster: true}},
		{work(.02), map[verdict.Verdict]bool{verdict.Faster: true, verdict.Equivalent: true}},
		{work(.05), map[verdict.Verdict]bool{verdict.Faster: true, verdict.Equivalent: true}},
		{nil, map[verdict.Verdict]bool{verdict.Faster: true, verdict.Equivalent: true}},
	} {
		for _, v := range []verdict.Verdict{verdict.Slower, verdict.Faster, verdict.Equivalent, verdict.Inconclusive} {
			if got := (Outcome{Truth: c.truth, Verdict: v}).Wrong(.02); got != c.wrong[v] {
				t.Errorf("%v, %s: wrong is %v", c.truth, v, got)
			}
		}
	}
}

func TestAnIntervalHoldsTheTruthOrNot(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		holds     bool
	}{{0, .1, true}, {.05, .05, true}, {.06, .1, false}, {-.1, .04, false}} {
		if holds, known := (Outcome{Truth: new(.05), Low: c.low, High: c.high}).Holds(); holds != c.holds || !known {
			t.Errorf("[%v, %v]: %v %v", c.low, c.high, holds, known)
		}
	}
	if _, known := (Outcome{Low: 0, High: 1}).Holds(); known {
		t.Error("a quota has a known size")
	}
}

// The data are those of Student's paper of 1908, which R has as sleep; the expected
// values are printed by R's t.test(extra ~ group, data = sleep).
func TestWelchAgreesWithR(t *testing.T) {
	x := []float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}
	y := []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	d, low, high := welch(x, y)
	for i, c := range [][2]float64{{d, -1.58}, {low, -3.3654832}, {high, .2054832}} {
		if math.Abs(c[0]-c[1]) > 1e-7 {
			t.Errorf("%d: %.8f, want %.8f", i, c[0], c[1])
		}
	}
	if d, low, high := welch([]float64{1, 1}, []float64{2, 2}); d != -1 || low != -1 || high != -1 {
		t.Errorf("constant samples: %v [%v, %v]", d, low, high)
	}
}

// trials are of that many blocks, where each environment of the test takes as long
// as its work, and both sides of a round share its noise.
func trials(test *Test, blocks, rounds int) (all []rundir.Trial) {
	random := rand.New(rand.NewPCG(1, 2))
	work := map[string]float64{baseline: 1}
	for _, e := range test.subjects[0].effects {
		work[e.environment] = 1 + e.Work + e.Quota
	}
	for block := 1; block <= blocks; block++ {
		noise := make([]float64, rounds)
		for i := range noise {
			noise[i] = math.Exp(random.NormFloat64() * .1)
		}
		for name, w := range work {
			t := rundir.Trial{Block: block, Environment: name, Workload: packName, Status: rundir.OK, Instance: name, HostSeconds: float64(rounds) * .05}
			for i, n := range noise {
				v := .05 * w * n * math.Exp(random.NormFloat64()*.001)
				t.Rounds = append(t.Rounds, rundir.Round{Number: i + 1, Position: 1, Metrics: map[string]float64{metric: v}})
			}
			t.Metrics = map[string]float64{metric: t.Rounds[0].Metrics[metric]}
			all = append(all, t)
		}
	}
	return all
}

func TestAPairIsJudgedAsInARunOfItsOwn(t *testing.T) {
	test := checked(t, "0", "5", "5", quota)
	plan, err := test.alternating(test.subjects[0], 20000, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := trials(test, 12, 16)
	for environment, want := range map[string]verdict.Verdict{"work-0": verdict.Equivalent, "work-5": verdict.Slower, "work-5-again-2": verdict.Slower, quota: verdict.Slower} {
		o, ok := alternatingOutcome(plan, all, environment)
		if !ok || o.Verdict != want || o.Open || o.N != plan.Design.Blocks.Min || math.Abs(o.Seconds-float64(2*o.N*16)*.05) > 1e-9 || !(o.Low < o.High) {
			t.Errorf("%s: %v %+v", environment, ok, o)
		}
	}
	if o, ok := alternatingOutcome(plan, trials(test, stats.LeastBlocks-1, 16), "work-5"); ok {
		t.Errorf("a verdict before there is an interval: %+v", o)
	}
	if o, ok := alternatingOutcome(plan, nil, "work-5"); ok {
		t.Errorf("an outcome without trials: %+v", o)
	}
}

func TestTheUsualPracticeTakesDriftForADifference(t *testing.T) {
	test := checked(t, "0")
	plan := func(drift float64) (list []rundir.Trial) {
		for i := range 2 * usualSamples {
			name := baseline
			if i >= usualSamples {
				name = "work-0"
			}
			list = append(list, rundir.Trial{Block: i%usualSamples + 1, Environment: name, HostSeconds: 1, Metrics: map[string]float64{metric: 1 + drift*float64(i) + .001*float64(i%3)}})
		}
		return list
	}
	if o, ok := usualOutcome(plan(0), test.subjects[0].effects[0].environment); !ok || o.Verdict != verdict.Inconclusive || o.Seconds != 2*usualSamples {
		t.Errorf("%v %+v", ok, o)
	}
	if o, ok := usualOutcome(plan(.01), test.subjects[0].effects[0].environment); !ok || o.Verdict != verdict.Slower {
		t.Errorf("%v %+v", ok, o)
	}
	if o, ok := usualOutcome(plan(0)[:15], test.subjects[0].effects[0].environment); ok {
		t.Errorf("incomplete samples: %+v", o)
	}
}

func TestEffectsAreCountedExactly(t *testing.T) {
	test := checked(t, "0", "1", "2.5", "10", quota)
	plan, err := test.alternating(test.subjects[0], 12345, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	w := plan.Workloads[0]
	if plan.Design.Order != study.Alternating || plan.Design.Rounds == 0 || plan.Design.Budget != time.Minute {
		t.Errorf("%+v", plan.Design)
	}
	for name, want := range map[string]string{baseline: "12345", "work-0": "12345", "work-1": "12468", "work-2-5": "12654", "work-10": "13580", quota: "12345"} {
		if got := plan.Environment(name).Parameters(w.Name, w.Levels[0])[operations]; got != want {
			t.Errorf("%s: %s operations, want %s", name, got, want)
		}
	}
	if limit := plan.Environment(quota).Limits.CPUs; limit != .4 {
		t.Errorf("the quota is %v", limit)
	}
	if truth, known := test.subjects[0].effects[1].truth(12345, .05); !known || truth != math.Log(12468./12345) {
		t.Errorf("%v %v", truth, known)
	}
	delayed := checked(t, "5", delay).subjects[1]
	if truth, known := delayed.effects[0].truth(250, .05); !known || math.Abs(truth-math.Log(1.05)) > 1e-12 {
		t.Errorf("%v %v", truth, known)
	}
	if plan, err = test.alternating(delayed, 250, 0); err != nil || plan.Environment(delay).With[packName][answerTime] != "210" {
		t.Errorf("%+v %v", plan, err)
	}
	usual, err := test.usual(test.subjects[0], 12345)
	if err != nil || usual.Design.Order != "sequential" || usual.Workloads[0].Fresh != "run" || usual.Design.Blocks.Max != usualSamples {
		t.Errorf("%+v %v", usual, err)
	}
	if probe, err := test.probe(test.subjects[0]); err != nil || len(probe.Environments) != 1 || probe.Workloads[0].Levels[0].Sample != DefaultSample {
		t.Errorf("%+v %v", probe, err)
	}
}
