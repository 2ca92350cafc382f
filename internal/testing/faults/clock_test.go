package faults

import (
	"strings"
	"testing"
)

// The clock of a guest runs 2% faster than the host's: the trial says so, in samples that
// are long and in those that are too short to show it.
func TestAGuestWhoseClockIsFast(t *testing.T) {
	needsLong(t) // a guest boots under emulation, in two runs
	needsKind(t, "qemu")
	for _, design := range []string{"{order: interleaved, blocks: 1, fresh: block}", "{order: alternating, rounds: 2, blocks: 1, fresh: block}"} {
		r := Begin(t, studyOf(t, []string{"vm: {kind: qemu, accel: tcg, data: 64MiB, memory: 256MiB, with: {fast: {tick: 10200}}}"}, "{use: %s/fast.yaml, sample: [30ms, 2s]}", design))
		r.Strike(Fault{Name: "a guest's clock 2% fast", Says: `the instance's clock ran at 1\.0[12]\d* of the host's`, When: now, Inject: nothing})
		for _, trial := range r.trialsIn("vm") {
			if !strings.Contains(strings.Join(trial.Warnings, "\n"), "the instance's clock ran at 1.0") {
				t.Errorf("%s, %s: %q", design, trial.Level, trial.Warnings)
			}
		}
		if trial := r.trialsIn("native")[0]; strings.Contains(strings.Join(trial.Warnings, "\n"), "clock ran") {
			t.Errorf("the baseline: %q", trial.Warnings)
		}
		r.Finish()
	}
}
