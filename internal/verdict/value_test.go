package verdict

import (
	"math"
	"math/rand/v2"
	"tare/internal/rundir"
	"testing"

	"pgregory.net/rapid"
)

func TestAValueHasTheIntervalOfItsBlocks(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := trialsOf("time", map[string][]float64{"native": noisy(20, 2, .05, 1), "docker": noisy(20, 3, .05, 2)})
	for name, want := range map[string]float64{"native": 2, "docker": 3} {
		all := Values(name, p, trials, rundir.Manifest{})
		if len(all) != 1 {
			t.Fatalf("%d values", len(all))
		}
		v := all[0].Ratio()
		if !all[0].Bounded() || !(v.Low < want && want < v.High) || v.High-v.Low > .4*want {
			t.Errorf("%s, which is %v, is %+v", name, want, v)
		}
	}
	if few := Values("docker", p, trialsOf("time", map[string][]float64{"docker": noisy(3, 3, .05, 2)}), rundir.Manifest{})[0]; few.Bounded() || few.Reason.IsZero() {
		t.Errorf("three blocks give %+v", few)
	}
}

// Results without blocks are one sample too, and no second one of ones beside them: the
// interval of two samples holds the value less often than it says.
func TestAValueOfUnpairedResultsHasTheIntervalOfOneSample(t *testing.T) {
	p := unpairedPlan()
	missed, runs := 0, 2000
	for n := range runs {
		c := Values("docker", p, trialsOf("time", map[string][]float64{"docker": noisy(12, 3, .05, uint64(n))}), rundir.Manifest{})[0]
		if v := c.Ratio(); !c.Bounded() || v.Low > 3 || v.High < 3 {
			missed++
		}
	}
	// Of an interval at 95%, with four standard errors; that of two samples misses 14%.
	if limit := float64(runs)*.05 + 4*math.Sqrt(float64(runs)*.05*.95); float64(missed) > limit {
		t.Errorf("%d of %d intervals miss the value", missed, runs)
	}
}

// The rounds of a trial describe differences, and a value is that of the trial.
func TestAValueIsThatOfTrialsAndNotOfRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := taken(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), []string{"native", "docker"}, 8, 4, func(string, string) float64 { return 0 })
		for i := range trials {
			trials[i].Metrics["time"] = 7
		}
		p := planOf(usual, "native", "docker")
		for _, c := range Values("docker", p, trials, rundir.Manifest{}) {
			if v := c.Ratio(); math.Abs(v.Estimate-7) > 1e-9 {
				t.Fatalf("a value of 7 is %+v", v)
			}
		}
	})
}

func TestAnotherBaselineGivesTheInverse(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := trialsOf("time", map[string][]float64{"native": noisy(20, 2, .05, 1), "docker": noisy(20, 3, .05, 2)})
	over, under := one(t, p, trials), With("docker", p, trials, rundir.Manifest{})[0]
	if under.Environment != "native" || under.Baseline != "docker" || math.Abs(over.Estimate+under.Estimate) > 1e-12 || math.Abs(over.Low+under.High) > 1e-12 {
		t.Errorf("%+v and %+v", over, under)
	}
}
