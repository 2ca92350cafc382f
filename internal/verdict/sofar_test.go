package verdict

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// Before there is an interval, the rounds of the block under way count as one
// block more.
func TestEstimatesSoFarUseTheRoundsUnderWay(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := alternating(p, 2, 3, func(environment string, block, round int) float64 {
		return float64(round) * map[string]float64{"native": 1, "docker": 1 + .1*float64(block)}[environment]
	})
	b := NewBook(p, []string{"native", "docker"})
	underWay, next := trials[:2], trials[2:]
	s := b.SoFar(underWay, 3)[0]
	if s.N != 0 || s.Rounds != 3 || math.Abs(s.Estimate-math.Log(1.1)) > 1e-12 || !s.Open || s.Way() != 0 {
		t.Errorf("%+v", s)
	}
	if s := b.SoFar(underWay[:1], 3)[0]; s.Rounds != 0 || !math.IsNaN(s.Estimate) {
		t.Errorf("with one side alone: %+v", s)
	}
	text, err := json.Marshal(b.SoFar(nil, 0)[0])
	if err != nil || !strings.Contains(string(text), `"estimate":null,"low":null,"high":null,"n":0,"verdict":"none","open":true,"way":0`) {
		t.Errorf("%s, %v", text, err)
	}
	for _, trial := range underWay {
		b.Add(trial)
	}
	if s := b.SoFar(next, 3)[0]; s.N != 1 || s.Rounds != 3 || math.Abs(s.Estimate-(math.Log(1.1)+math.Log(1.2))/2) > 1e-12 {
		t.Errorf("%+v", s)
	}
	if s := b.SoFar(next, 7)[0]; s.Rounds != 0 || math.Abs(s.Estimate-math.Log(1.1)) > 1e-12 {
		t.Errorf("with fewer than half of the rounds: %+v", s)
	}
	if c := b.Contrasts()[0]; c.N != 1 {
		t.Errorf("the trials under way were entered: %+v", c)
	}
}

func TestTheWayToAVerdictIsAShareOfTheBlocks(t *testing.T) {
	for projection, want := range map[int]float64{32: .25, 8: 1, 0: 1} {
		if got := (Contrast{Open: true, IntervalN: 8, Low: -.04, High: .04, Projection: projection}).Way(); got != want {
			t.Errorf("of %d: %g", projection, got)
		}
	}
	if got := (Contrast{}).Way(); got != 1 {
		t.Errorf("decided: %g", got)
	}
}
