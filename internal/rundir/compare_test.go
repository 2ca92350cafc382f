package rundir

import (
	"slices"
	"testing"

	"tare/internal/study"
)

// The length of samples, and what runs between them, can move a ratio.
func TestAnotherOrderIsADifferenceOfTwoRuns(t *testing.T) {
	run := func(d study.Design) *Run { return &Run{Plan: &study.Plan{Design: d}} }
	one := study.Design{Order: study.Alternating, Rounds: 16, Waiting: "idle"}
	got := Differences(run(one), run(study.Design{Order: "interleaved"}))
	if want := []string{"order: alternating, 16 rounds of samples in each block, waiting instances idle, then interleaved"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Differences(run(one), run(one)); got != nil {
		t.Errorf("%q", got)
	}
}
