package verdict

import (
	"math"
	"testing"
)

// Twice as much and half as much are the same together, whichever side is the baseline.
func TestTheMeanOfRatiosIsGeometric(t *testing.T) {
	of := func(workload, environment string, n int, ratio float64) Contrast {
		return Contrast{Workload: workload, Metric: "rate", Environment: environment, N: n, Estimate: math.Log(ratio)}
	}
	got := Geomeans([]Contrast{of("a", "docker", 8, 2), of("b", "docker", 8, .5), of("a", "gvisor", 8, 4), of("b", "gvisor", 0, 0)})
	if len(got) != 1 || got[0].Environment != "docker" || got[0].Places != 2 || math.Abs(got[0].Log) > 1e-12 {
		t.Errorf("%+v", got)
	}
	if got := Geomeans([]Contrast{of("a", "docker", 8, 2)}); len(got) != 0 {
		t.Errorf("of one workload: %+v", got)
	}
}

func TestTheMeanOfChangesHasTheCosts(t *testing.T) {
	changes := Compare(comparedPlan("higher"), costing(8, 100, .8, .01), costing(8, 100, .4, .01))
	other := changes[0]
	other.Workload = "other"
	got := GeomeansOfChanges(append(changes, other))
	if len(got) != 1 || math.Abs(got[0].First-.8) > .02 || math.Abs(got[0].Second-.4) > .02 || math.Abs(math.Exp(got[0].Log)-.5) > .02 {
		t.Errorf("%+v", got)
	}
}
