package verdict

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

func comparedPlan(better string) *study.Plan {
	return &study.Plan{Baseline: "native", Environments: []study.Environment{{Name: "native"}, {Name: "docker"}},
		Workloads: []study.Workload{{Name: "w", Levels: []study.Level{{}},
			Pack: workload.Pack{Metrics: []workload.Metric{{Name: "rate", Unit: "op/s", Better: better, Primary: true}}}}},
		Design: study.Design{Margin: .02}}
}

// costing makes the trials of a run whose environment has cost times the
// baseline's value, give or take a little, on a machine with its own speed.
func costing(blocks int, speed, cost, noise float64) (trials []rundir.Trial) {
	for b := 1; b <= blocks; b++ {
		drift := speed * (1 + float64(b%5)/20)
		wiggle := 1 + noise*math.Sin(float64(b))
		for env, v := range map[string]float64{"native": drift, "docker": drift * cost * wiggle} {
			trials = append(trials, rundir.Trial{Block: b, Environment: env, Workload: "w", Status: rundir.OK, Metrics: map[string]float64{"rate": v}})
		}
	}
	return trials
}

func TestTwoRunsAreComparedByWhatTheLayerCosts(t *testing.T) {
	for _, c := range []struct {
		name         string
		blocks       int
		then, now    float64
		noise        float64
		higher       Verdict
		lower        Verdict
		machineSpeed float64
	}{
		{"the same cost on a machine of half the speed", 12, .9, .9, .005, Equivalent, Equivalent, .5},
		{"a tenth less", 12, 1, .9, .005, Slower, Faster, 1},
		{"a tenth more", 12, .9, 1, .005, Faster, Slower, 3},
		{"no more than noise", 12, .9, .91, .2, Inconclusive, Inconclusive, 1},
		{"too few blocks", 3, 1, .5, .005, None, None, 1},
	} {
		for better, want := range map[string]Verdict{"higher": c.higher, "lower": c.lower} {
			moved := Compare(comparedPlan(better), costing(c.blocks, 100, c.then, c.noise), costing(c.blocks, 100*c.machineSpeed, c.now, c.noise))
			if len(moved) != 1 || moved[0].Verdict != want {
				t.Errorf("%s, %s is better: %+v, want %s", c.name, better, moved, want)
			}
		}
	}
}

func TestACostIsWhatTheReportOfItsRunHas(t *testing.T) {
	plan := comparedPlan("lower")
	for name, c := range map[string]struct {
		blocks   int
		withheld bool
	}{"an interval": {9, false}, "too few blocks": {3, false}, "a comparison without a verdict": {6, true}} {
		trials := costing(c.blocks, 100, 1.7, .2)
		reported, changes := Contrasts(plan, trials, rundir.Manifest{}), Compare(plan, trials, trials)
		if c.withheld {
			reported[0].Withhold([]string{"direct I/O"})
		}
		AsReported(changes, "native", reported, reported)
		shown := reported[0].Estimate
		if reported[0].IntervalN == 0 {
			shown = reported[0].Middle // beside the range
		}
		if got, want := ChangeOf(changes[0].FirstCost), Change(shown); got != want || ChangeOf(changes[0].SecondCost) != want {
			t.Errorf("%s: the cost is %s in the comparison and %s in the report", name, got, want)
		}
	}
}

func TestComparingTheOtherWayRoundTurnsTheChangeAround(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		then, now := rapid.Float64Range(.5, 2).Draw(t, "then"), rapid.Float64Range(.5, 2).Draw(t, "now")
		a, b := costing(10, 100, then, .01), costing(11, 70, now, .02)
		there, back := Compare(comparedPlan("higher"), a, b)[0], Compare(comparedPlan("higher"), b, a)[0]
		if math.Abs(there.Shift.Estimate+back.Shift.Estimate) > 1e-9 || math.Abs(there.Shift.Low+back.Shift.High) > 1e-9 {
			t.Fatalf("there %+v, back %+v", there.Shift, back.Shift)
		}
	})
}

func TestRunsWithNothingInCommonGiveNoComparison(t *testing.T) {
	if moved := Compare(comparedPlan("higher"), nil, costing(10, 1, 1, 0)); len(moved) != 0 {
		t.Errorf("got %+v", moved)
	}
}

// What fell to 0 in some blocks is not the same as before in the others.
func TestARunWithZerosIsNotCompared(t *testing.T) {
	whole, zeros := costing(20, 1, .9, .005), costing(20, 1, .9, .005)
	for i := range zeros {
		if zeros[i].Environment == "docker" && zeros[i].Block == 3 {
			zeros[i].Metrics["rate"] = 0
		}
	}
	for _, runs := range [][2][]rundir.Trial{{whole, zeros}, {zeros, whole}} {
		got := Compare(comparedPlan("higher"), runs[0], runs[1])
		if len(got) != 1 || got[0].Verdict != None || got[0].Reason.IsZero() || got[0].Shift.Bounded() {
			t.Errorf("%+v", got)
		}
	}
}

func TestMetricsOfAPackThatMarksNoneArePrimaryInAComparison(t *testing.T) {
	p := comparedPlan("higher")
	p.Workloads[0].Pack.Metrics[0].Primary = false
	if got := Compare(p, costing(12, 1, .9, .005), costing(12, 1, .9, .005)); len(got) != 1 || !got[0].Primary {
		t.Errorf("%+v", got)
	}
}

// An environment that left its run after four blocks has no verdict in a table of many,
// and its change has an interval.
func TestWhatLeftEarlyIsComparedWithItsInterval(t *testing.T) {
	plan := comparedPlan("higher")
	plan.Workloads[0].Pack.Metrics = append(plan.Workloads[0].Pack.Metrics, workload.Metric{Name: "other", Unit: "op/s", Better: "higher", Primary: true})
	for _, c := range []struct {
		then, now float64
		leaning   Verdict
	}{{.2, .2, ""}, {.2, .1, Slower}} {
		runs := [][]rundir.Trial{costing(4, 100, c.then, .01), costing(4, 100, c.now, .01)}
		for _, run := range runs {
			for i := range run {
				run[i].Metrics["other"] = run[i].Metrics["rate"]
			}
		}
		for _, got := range Compare(plan, runs[0], runs[1]) {
			if got.Verdict != None || got.Reason.IsZero() || !got.Shift.Bounded() || got.Leaning != c.leaning {
				t.Errorf("from %v to %v: %+v", c.then, c.now, got)
			}
		}
	}
}

// The relative cost stays where the machine alone is slower, and the values do not.
func TestValuesOfTwoRunsMoveWithTheMachine(t *testing.T) {
	plan := comparedPlan("higher")
	plan.Design.Confidence = .95
	m := rundir.Manifest{Environments: map[string]rundir.EnvironmentFacts{"native": {}, "docker": {}}}
	moved := CompareValues(plan, Measured{costing(12, 100, .9, .005), m}, Measured{costing(12, 50, .9, .005), m})
	if len(moved) != 2 {
		t.Fatalf("%+v", moved)
	}
	for _, c := range moved {
		if math.Abs(math.Exp(c.Change.Estimate)-.5) > .01 || c.Change.High >= 0 || !c.Change.Bounded() || math.Abs(c.Values[1]/c.Values[0]-.5) > .01 {
			t.Errorf("%+v", c)
		}
	}
	same := CompareValues(plan, Measured{costing(12, 100, .9, .005), m}, Measured{costing(12, 100, .9, .005), m})
	for _, c := range same {
		if c.Change.Estimate != 0 || c.Change.Low >= 0 || c.Change.High <= 0 {
			t.Errorf("a run with itself: %+v", c)
		}
	}
}

// What makes the comparison of one run meaningless makes a change of it so.
func TestAConfoundOfEitherRunMarksTheChange(t *testing.T) {
	plan, first, second := comparedPlan("higher"), costing(12, 100, 1, .005), costing(12, 100, .9, .005)
	before, after, changes := Contrasts(plan, first, rundir.Manifest{}), Contrasts(plan, second, rundir.Manifest{}), Compare(plan, first, second)
	after[0].warn(Warning{Code: Confound, Confounds: []string{"log path"}})
	AsReported(changes, "native", before, after)
	if c := changes[0]; len(c.Confounds) != 1 || c.Verdict != Slower {
		t.Errorf("%+v", c)
	}
	after[0].Withhold([]string{"log path"})
	AsReported(changes, "native", before, after)
	if c := changes[0]; len(c.Confounds) != 1 || c.Verdict != None || c.Reason.Code != Incomparable || !c.Shift.Bounded() {
		t.Errorf("%+v", c)
	}
}
