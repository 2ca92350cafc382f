package attribution

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/workload"
)

func TestSamplesOfALadderThatAreAnAmountHaveHalfTheLength(t *testing.T) {
	of := func(length *workload.Length) study.Workload {
		return study.Workload{Pack: workload.Pack{Length: length}}
	}
	amount := &workload.Length{Amount: "requests", Sample: 50 * time.Millisecond}
	plan := &study.Plan{Workloads: []study.Workload{of(amount), of(&workload.Length{Time: "milliseconds", Sample: 100 * time.Millisecond}), of(nil)}}
	halveSamples(plan)
	got := []time.Duration{plan.Workloads[0].Pack.Length.Sample, plan.Workloads[1].Pack.Length.Sample, amount.Sample}
	if got[0] != 25*time.Millisecond || got[1] != 100*time.Millisecond || got[2] != 50*time.Millisecond || plan.Workloads[2].Pack.Length != nil {
		t.Errorf("%v: the second keeps the time itself, the third is the pack's own", got)
	}
}
