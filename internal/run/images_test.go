package run

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/image/origin"
	"tare/internal/rundir"
	"tare/internal/study"
)

// mixed has a workload that needs no image to be made, and one that needs the study's.
func mixed(t *testing.T, environments string) *study.Plan {
	return plan(t, "[{use: ./echo.yaml}, {use: startup, image: 'tare:agent'}]", "{blocks: 2, fresh: block, rounds: 1}", environments)
}

func TestWhatNeedsNoImageIsMeasuredBeforeTheImageIsThere(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: mixed(t, two)})
	if r.Failed != 0 || len(r.Run.Trials) != 8 || r.Run.Trials[0].Workload != "startup" || r.Run.Trials[1].Workload != "startup" {
		t.Errorf("%d trials, of which %d failed: %+v", len(r.Run.Trials), r.Failed, r.Run.Trials)
	}
	all := r.Run.Manifest.AllImages()
	if len(all) != 2 || all[""].Digest == "" || all[origin.Own].Digest == "" || all[""] == all[origin.Own] {
		t.Errorf("images %+v", all)
	}
}

func TestAnImageThatCannotBeHadLeavesOutTheWorkloadsThatNeedIt(t *testing.T) {
	p := mixed(t, two)
	file := strings.TrimPrefix(p.Image.Reference, "tar:")
	if err := os.WriteFile(file, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := execute(t, t.Context(), Options{Plan: p})
	for _, trial := range r.Run.Trials {
		switch ok := trial.Status == rundir.OK; {
		case trial.Workload == "startup" != ok:
			t.Errorf("%s is %s: %s", trial.Cell(), trial.Status, trial.Reason)
		case !ok && (trial.Status != rundir.Skipped || !strings.Contains(trial.Reason, file)):
			t.Errorf("%s is %s, and the reason does not name the image: %s", trial.Cell(), trial.Status, trial.Reason)
		}
	}
	if len(r.Run.Trials) != 6 { // four starts, and what needs the image once
		t.Errorf("%d trials", len(r.Run.Trials))
	}
}

func TestAnEnvironmentThatCannotHaveAnImageIsComparedWithoutIt(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: mixed(t, "{a: {kind: bare}, b: {kind: bare, unfit: true}, c: {kind: bare}}")})
	without := slices.Compact(lists.Map(r.Run.Trials, func(trial rundir.Trial) string { return trial.Environment }))
	if slices.Contains(without, "b") || !slices.Contains(without, "c") {
		t.Errorf("trials in %v", without)
	}
}
