package progress

import (
	"strings"
	"testing"

	"tare/internal/run"
	"tare/internal/schedule"
)

// Traced trials come after the blocks: a number of theirs would lie beyond the most.
func TestTracedTrialsAreCalledSoInTheProgress(t *testing.T) {
	e := run.Event{Slot: &schedule.Slot{Block: 9, Workload: "redis", Environment: "docker", Traced: true},
		Progress: schedule.Progress{MaxBlock: 8, NextLook: 10, Decided: 3}}
	if got := blockLine(e); got != "traced trials" {
		t.Error(got)
	}
	if got := trialLine(e); got != "traced trials · redis in docker · 3/3 decided" {
		t.Error(got)
	}
	e.Slot.Traced = false
	if got := blockLine(e); !strings.HasPrefix(got, "block 9 of at most 8, next interim analysis at 10") {
		t.Error(got)
	}
	if got := trialLine(e); !strings.HasPrefix(got, "block 9/8 · redis in docker") {
		t.Error(got)
	}
}
