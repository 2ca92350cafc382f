package rundir

import (
	"testing"

	"tare/internal/workload"
)

// A median of the rounds would hide the failures of one of three.
func TestFailuresOfOneRoundAreNotLost(t *testing.T) {
	var rounds []Copy
	for _, share := range []float64{0, .9, 0} {
		rounds = append(rounds, Copy{Metrics: map[string]float64{workload.ErrorRatio: share, "requests": 10}})
	}
	all := OfRounds(rounds, "requests")
	if got := all.Metrics[workload.ErrorRatio]; got < .3-1e-12 || got > .3+1e-12 || all.Metrics["requests"] != 30 {
		t.Errorf("%v", all.Metrics)
	}
	for i := range rounds {
		rounds[i].Metrics[workload.ErrorRatio] = 1
	}
	if got := OfRounds(rounds, "").Metrics[workload.ErrorRatio]; got != 1 {
		t.Errorf("all of three rounds are %v", got)
	}
}
