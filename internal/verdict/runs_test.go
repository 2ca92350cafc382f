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
