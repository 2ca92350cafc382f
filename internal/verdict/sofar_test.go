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
	for _, c := range []struct {
		estimate, half, want float64
	}{
		{0, .04, .25},       // equivalent at half the width
		{.02, .04, .25},     // different or not: 0 must be outside
		{.01, .04, 1. / 16}, // undecided between both: the furthest
		{.5, 1, .25},
		{.5, .4, 1},
	} {
		got := Contrast{Open: true, IntervalN: 8, Alpha: .01, Estimate: c.estimate, Low: c.estimate - c.half, High: c.estimate + c.half, Margin: math.Expm1(.02)}.Way()
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g", c, got)
		}
	}
	if got := (Contrast{}).Way(); got != 1 {
		t.Errorf("decided: %g", got)
	}
}
