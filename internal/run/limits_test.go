package run

import (
	"strings"
	"testing"

	"tare/internal/rundir"
)

// An environment without any isolation has no limits either, whatever is asked.
func TestALimitNotInForceFailsTheTrialWithTheReason(t *testing.T) {
	starts, stops := bareStarts.Load(), bareStops.Load()
	r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 2, fresh: block}",
		"{a: {kind: bare}, b: {kind: bare, limits: {cpus: 0.3, pids: 7}}}")})
	for _, trial := range r.Run.Trials {
		if trial.Environment == "a" {
			if trial.Status != rundir.OK {
				t.Errorf("nothing was asked, and the trial %s: %s", trial.Status, trial.Reason)
			}
			continue
		}
		if trial.Status != rundir.Failed {
			t.Errorf("status %s", trial.Status)
		}
		for _, word := range []string{"a limit did not take effect", "cpus: 0.3 CPUs requested, but ", "pids: 7 requested, but ", " shows "} {
			if !strings.Contains(trial.Reason, word) {
				t.Errorf("%q is missing in the reason: %s", word, trial.Reason)
			}
		}
	}
	if n := bareStarts.Load() - starts; n == 0 || bareStops.Load()-stops != n {
		t.Errorf("%d starts and %d stops", n, bareStops.Load()-stops)
	}
}
