package rundir

import (
	"path/filepath"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

func TestTracedTrialsAreKeptSeparately(t *testing.T) {
	file, err := study.Load("quick")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := study.Resolve(file, study.Overrides{Blocks: 3})
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(t.TempDir(), "traced")
	w, err := Create(directory, plan, Manifest{Run: "traced", Tare: "test", Created: time.Now().UTC(), Command: []string{"tare"}, Environments: map[string]EnvironmentFacts{}, Sessions: []Session{}})
	if err != nil {
		t.Fatal(err)
	}
	usual := Trial{Block: 1, Position: 1, Environment: "native", Workload: "redis", Status: OK, Started: time.Now().UTC(), Ended: time.Now().UTC(), Metrics: map[string]float64{"requests": 5}}
	usual.Evidence = &evidence.Evidence{Seconds: 1, Counts: map[string]usage.Figure{evidence.Syscalls: usage.Known(40)}}
	traced := usual
	traced.Block, traced.Traced = 2, true
	traced.Evidence = &evidence.Evidence{Seconds: 1,
		Counts: map[string]usage.Figure{"syscall.read": usage.Known(3), "fault.minor": usage.Absent("refused")},
		Times:  map[string]usage.Figure{"kernel.overlay": usage.Known(.25)},
		Parts:  map[string]evidence.Tally{"shim": {Counts: map[string]usage.Figure{"syscall.read": usage.Known(1)}}},
		Notes:  []string{"a note"}}
	for _, trial := range []Trial{usual, traced} {
		if err := w.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	validDirectory(t, directory)
	run, err := Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Trials) != 1 || run.Trials[0].Block != 1 || len(run.Traced) != 1 || run.Traced[0].Block != 2 || len(run.Journal()) != 2 {
		t.Fatalf("trials %+v, traced %+v", run.Trials, run.Traced)
	}
	if got := run.Traced[0].Evidence; got.Counts["fault.minor"].Missing != "refused" || got.Parts["shim"].Counts["syscall.read"].Value != 1 {
		t.Errorf("the evidence came back as %+v", got)
	}
}
