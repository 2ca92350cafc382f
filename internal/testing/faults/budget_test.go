package faults

import (
	"testing"

	"tare/internal/rundir"
)

// A budget that is spent in a block, in whatever step, ends the run: what has a sample by
// then counts, nothing has failed, and the run says why it ended.
func TestABudgetThatIsSpentInABlockEndsTheRun(t *testing.T) {
	for _, step := range []string{"begin", "setup", "server", "warmup", "driver", "teardown"} {
		t.Run(step, func(t *testing.T) {
			if step != "setup" && step != "driver" {
				needsLong(t)
			}
			name := "a budget that is spent in " + step
			status, budget, delay := 3, "1s", "2" // nothing was measured
			if step == "driver" || step == "teardown" {
				status, budget, delay = 0, "8s", "6" // a start on a busy machine takes seconds
			}
			r := Begin(t, studyOf(t, []string{"oci: {}"}, "{use: %s/work.yaml, count: 1000, slow: "+step+", delay: "+delay+"}", "{order: alternating, rounds: 2, fresh: block, budget: "+budget+"}"))
			for range 2 { // a resumed run has the same budget
				r.Strike(Fault{Name: name, Status: status, Says: "the budget of " + budget + " is spent", When: now, Inject: nothing})
			}
			run, err := rundir.Open(r.Directory)
			if err != nil {
				t.Fatal(err)
			}
			if r.failures() > 0 || len(run.Trials) > 2 {
				t.Errorf("%d trials: %s", len(run.Trials), r.reasons())
			}
			for _, trial := range run.Trials {
				if len(trial.Rounds) == 0 {
					t.Errorf("%s has no sample", trial.Environment)
				}
			}
			if wrong, err := run.Verify(); err != nil || len(wrong) > 0 {
				t.Errorf("%q, %v", wrong, err)
			}
		})
	}
}
