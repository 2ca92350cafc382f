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

func TestTheIntervalOfAQuotientIsWhatBothValuesAllow(t *testing.T) {
	x, y := Ends{math.Log(90), math.Log(110)}, Ends{math.Log(45), math.Log(55)}
	if got := x.Over(y); math.Abs(got.Low-math.Log(90./55)) > 1e-12 || math.Abs(got.High-math.Log(110./45)) > 1e-12 {
		t.Errorf("90 to 110 over 45 to 55 is within %v", got)
	}
	if got := x.Over(Ends{math.Inf(-1), math.Inf(1)}); !math.IsInf(got.Low, -1) || !math.IsInf(got.High, 1) {
		t.Errorf("a value without an interval leaves %v", got)
	}
	// With normal errors that depend on each other in any way.
	rng, held := rand.New(rand.NewPCG(7, 7)), 0
	for n := range 4000 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		b = []float64{b, -a, .5*a + .866*b}[n%3]
		if both := (Ends{a - 1.96, a + 1.96}).Over(Ends{b - 1.96, b + 1.96}); both.Low <= 0 && both.High >= 0 {
			held++
		}
	}
	if held < 3770 { // 94.3%
		t.Errorf("the interval holds in %d of 4000", held)
	}
}

func TestAnotherBaselineGivesTheInverse(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := trialsOf("time", map[string][]float64{"native": noisy(20, 2, .05, 1), "docker": noisy(20, 3, .05, 2)})
	over, under := one(t, p, trials), With("docker", p, trials, rundir.Manifest{})[0]
	if under.Environment != "native" || under.Baseline != "docker" || math.Abs(over.Estimate+under.Estimate) > 1e-12 || math.Abs(over.Low+under.High) > 1e-12 {
		t.Errorf("%+v and %+v", over, under)
	}
}
