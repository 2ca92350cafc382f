package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
)

// The reports of a large run take seconds. A signal ends them at once: the run is
// complete, no report is half written, and tare says how to get one.
func TestTheReportOfALargeRunIsCalledOff(t *testing.T) {
	file := studyOf(t, []string{"oci: {}"}, "use: %s/work.yaml", "{order: alternating, rounds: 8, blocks: 2000, fresh: block}")
	r := Begin(t, file)
	r.fill(file)
	r.Strike(Fault{
		Name: "SIGTERM while the reports of a large run are written", Status: 130,
		Says: `interrupted while the reports were written: no trial is missing, and .tare report .* writes them`,
		When: func(s *Session) {
			s.WaitFor("the end of the last trial", func() bool {
				manifest, err := os.ReadFile(filepath.Join(r.Directory, "manifest.json"))
				return err == nil && strings.Contains(string(manifest), `"stopped"`)
			})
		},
		Inject: func(s *Session) func() { s.Signal(syscall.SIGTERM); return nil },
	})
	r.noReport()
	const name = "SIGTERM of tare report, of a large run"
	s := &Session{Process: r.Home.Tare(t, "report", r.Directory), Run: r}
	journal, err := os.Stat(filepath.Join(r.Directory, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s.WaitFor("the journal to be read", func() bool {
		var read int64
		counters, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", s.Cmd.Process.Pid))
		_, _ = fmt.Sscanf(string(counters), "rchar: %d", &read)
		return read >= journal.Size()
	})
	s.Signal(syscall.SIGTERM)
	rowOf(name).times++
	if status := s.end(); status != Killed {
		t.Errorf("tare report: status %d: %s", status, s.output())
	}
	r.check(name, r.journal())
	r.nothingLeft(name)
	r.noReport()
	r.says(name, "/report.html", "report", r.Directory)
	r.Finish()
}

// fill makes all trials of the run of a study but the work: it writes them.
func (r *Run) fill(file string) {
	r.t.Helper()
	plan, err := study.Open(file, study.Overrides{})
	if err != nil {
		r.t.Fatal(err)
	}
	began := time.Now().Add(-24 * time.Hour).UTC()
	w, err := rundir.Create(r.Directory, plan, rundir.Manifest{Created: began, Environments: map[string]rundir.EnvironmentFacts{}})
	if err != nil {
		r.t.Fatal(err)
	}
	var trials []rundir.Trial
	for block := range plan.Design.Blocks.Max {
		for n, e := range plan.Environments {
			t := rundir.Trial{
				Block: block + 1, Position: n + 1, Environment: e.Name, Workload: plan.Workloads[0].Name, Level: plan.Workloads[0].Levels[0].Name,
				Status: rundir.OK, Instance: fmt.Sprint("b", block, "-", e.Name), Started: began, Ended: began.Add(time.Second),
			}
			for round := range plan.Design.Rounds {
				t.Rounds = append(t.Rounds, rundir.Round{Number: round + 1, Position: n + 1, Metrics: map[string]float64{"value": float64(1000 + (7*block+round)%13 + n)}})
			}
			t.Metrics = t.Rounds[0].Metrics
			trials = append(trials, t)
			began = began.Add(time.Second)
		}
	}
	if err := errors.Join(w.Append(trials...), w.Close()); err != nil {
		r.t.Fatal(err)
	}
}

// noReport fails where there is a report, or half of one.
func (r *Run) noReport() {
	r.t.Helper()
	for _, pattern := range []string{"report.*", ".new-*"} {
		if files, _ := filepath.Glob(filepath.Join(r.Directory, pattern)); len(files) > 0 {
			r.t.Errorf("there is %q", files)
		}
	}
}
