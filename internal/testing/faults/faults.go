// Package faults injects faults into runs of the real program and holds each of them
// to the same four promises: no finished block is lost, nothing is left behind, the
// cause is said, and the run can be resumed.
//
// A fault is a value. It says what is done, at which moment, and which words tell of it:
//
//	faults.Fault{
//		Name: "kill -9 of the driver", Study: "work.yaml",
//		When:   func(s *faults.Session) { s.Until(`"trying"`) },
//		Inject: func(s *faults.Session) func() { s.Kill(s.Find("-native-", "fault-driver")); return nil },
//		Fails:  1, Says: "was ended by SIGKILL",
//	}.Test(t)
//
// Test begins a run, strikes once and finishes the run. To strike one run several
// times, call Begin, then Strike for each fault, then Finish. Nothing is simulated: tare is
// a process, its environments are real, and When waits for events of the run or for
// processes, never for a time.
//
// Every fault is a row of a table: how often it was injected, finished trials that were
// lost, and things that were left behind. With -table FILE, which `make faults` gives,
// the table is written there. -long injects more often, and tests ask Long for it.
//
// It must not know any environment by name, except in the faults themselves.
package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/environment"
	"tare/internal/rundir"
)

// Fault is one thing that goes wrong in a session of a run.
type Fault struct {
	Name string // the row of the table
	// Study is a file of testdata, and Args are more arguments of the first session.
	Study string
	Args  []string
	// When returns at the moment of the fault. Between When and Inject the checker reads
	// the journal: what is in it then must never be lost.
	When func(*Session)
	// Inject injects. What it returns, if not nil, takes the fault back after the session.
	Inject func(*Session) (undo func())
	// Status is the exit status of the session: 0, 1, 3 or 130 of tare, or Killed.
	Status int
	// Says is a regular expression of the cause, in what the session prints or in the
	// reason or a warning of a trial; "" where the program has no last word.
	Says string
	// Fails is how many trials fail of it; -1 for one or more, which depends on the moment.
	Fails int
}

// Killed is the exit status of a program that a signal ended.
const Killed = -1

// Test injects the fault once, into a run of its own.
func (f Fault) Test(t *testing.T) {
	t.Helper()
	r := Begin(t, f.Study, f.Args...)
	r.Strike(f)
	r.Finish()
}

// Run is a run that is struck, session after session.
type Run struct {
	t         *testing.T
	Home      Home
	Directory string
	begin     []string // the arguments of the first session
	kept      []byte   // of the journal: what may not be lost
	failed    int      // trials that a fault made fail
}

// Begin prepares a run of a study of testdata. Its first session starts with the first
// Strike.
func Begin(t *testing.T, study string, args ...string) *Run {
	t.Helper()
	h := NewHome(t)
	directory := filepath.Join(filepath.Dir(h.Directory), "run")
	return &Run{t: t, Home: h, Directory: directory,
		begin: append([]string{"run", study, "--json", "--out", directory}, args...)}
}

// Strike runs one more session and injects the fault into it. It returns false where a
// session that was to be killed had ended before, which is no injection.
func (r *Run) Strike(f Fault) bool {
	r.t.Helper()
	s := r.session()
	f.When(s)
	r.check(f.Name, r.journal()) // what the session added so far is kept from now on
	undo := f.Inject(s)
	status := s.end()
	if undo != nil {
		undo()
	}
	r.check(f.Name, r.journal())
	if f.Status == Killed && status == 0 {
		return false
	}
	if f.Fails < 0 {
		f.Fails = max(1, r.failures()-r.failed)
	}
	r.failed += f.Fails
	rowOf(f.Name).times++
	if status != f.Status {
		r.t.Errorf("%s: the session ended with status %d, not %d: %s", f.Name, status, f.Status, s.output())
	}
	if f.Says != "" && !regexp.MustCompile(f.Says).MatchString(s.output()+r.reasons()) {
		r.t.Errorf("%s: nothing says %q:\n%s\n%s", f.Name, f.Says, s.output(), r.reasons())
	}
	if status != Killed { // else the next command sweeps
		r.nothingLeft(f.Name)
	}
	if r.t.Failed() {
		r.t.Logf("%s: the session printed %s", f.Name, s.output())
	}
	return true
}

// Clean runs `tare clean`, after which nothing of killed sessions may be there.
func (r *Run) Clean(name string) {
	r.t.Helper()
	p := r.Home.Tare(r.t, "clean")
	if status := p.end(); status != 0 {
		r.t.Errorf("%s: tare clean: status %d: %s", name, status, p.output())
	}
	r.nothingLeft(name)
}

// Ended says whether a session has brought the run to its end.
func (r *Run) Ended() bool {
	run, err := rundir.Open(r.Directory)
	return err == nil && len(run.Manifest.Sessions) > 0 && run.Manifest.HasEnded()
}

// Finish resumes the run to its end: then it has every trial once, its files are as
// their checksums say, and `tare clean` finds nothing.
func (r *Run) Finish() {
	r.t.Helper()
	s := r.session()
	want := 0
	if r.failed > 0 {
		want = 3
	}
	if status := s.end(); status != want {
		r.t.Errorf("the last session ended with status %d, not %d: %s", status, want, s.output())
	}
	const name = "the resumed run"
	r.check(name, r.journal())
	r.nothingLeft(name)
	p := r.Home.Tare(r.t, "clean")
	if status := p.end(); status != 0 || !strings.Contains(p.output(), "nothing was left behind") {
		r.t.Errorf("tare clean: status %d: %s", status, p.output())
	}
	run, err := rundir.Open(r.Directory)
	if err != nil {
		r.t.Fatal(err)
	}
	r.complete(run)
	if wrong, err := run.Verify(); err != nil || len(wrong) > 0 {
		r.t.Errorf("%q, %v", wrong, err)
	}
	if half, _ := filepath.Glob(filepath.Join(r.Directory, ".*")); len(half) > 0 {
		r.t.Errorf("half-written files are left: %q", half)
	}
}

// complete fails where a trial of the plan is missing, was made twice, or failed
// without a fault.
func (r *Run) complete(run *rundir.Run) {
	r.t.Helper()
	want, failed, seen := 0, 0, map[string]bool{}
	for _, e := range run.Plan.Environments {
		if run.Manifest.Environments[e.Name].State == environment.Missing {
			continue
		}
		for _, w := range run.Plan.Workloads {
			want += run.Plan.Design.Blocks.Max * len(w.Levels)
		}
	}
	for _, trial := range run.Trials {
		key := fmt.Sprint(trial.Block, trial.Environment, trial.Workload, trial.Level)
		if seen[key] {
			r.t.Errorf("%s was run twice", key)
		}
		seen[key] = true
		if trial.Status == rundir.Failed {
			failed++
			r.t.Logf("%s failed: %s", key, trial.Reason)
		}
	}
	if len(run.Trials) != want || failed != r.failed {
		r.t.Errorf("%d trials, of which %d failed, not %d, of which %d: %s", len(run.Trials), failed, want, r.failed, run.Manifest.Sessions[len(run.Manifest.Sessions)-1].Stopped)
	}
}

// session starts tare on the run.
func (r *Run) session() *Session {
	r.t.Helper()
	args := r.begin
	if _, err := os.Stat(filepath.Join(r.Directory, "manifest.json")); err == nil {
		args = []string{"run", "--json", "--resume", r.Directory}
	}
	return &Session{Process: r.Home.Tare(r.t, args...), Run: r}
}

// journal is the run's journal up to its last whole line.
func (r *Run) journal() []byte {
	text, err := os.ReadFile(filepath.Join(r.Directory, "journal.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return text[:bytes.LastIndexByte(text, '\n')+1]
}

// check fails where the journal does not continue what it was.
func (r *Run) check(name string, is []byte) {
	r.t.Helper()
	if bytes.HasPrefix(is, r.kept) {
		r.kept = is
		return
	}
	lines := slices.Collect(bytes.Lines(is))
	for line := range bytes.Lines(r.kept) {
		if !slices.ContainsFunc(lines, func(l []byte) bool { return bytes.Equal(l, line) }) {
			rowOf(name).lost++
		}
	}
	r.t.Errorf("%s: the journal was\n%s\nand is\n%s", name, r.kept, is)
}

// failures is how many trials have failed.
func (r *Run) failures() (n int) {
	if run, err := rundir.Open(r.Directory); err == nil {
		for _, trial := range run.Trials {
			if trial.Status == rundir.Failed {
				n++
			}
		}
	}
	return n
}

// reasons are those of the trials, and their warnings.
func (r *Run) reasons() (text string) {
	run, err := rundir.Open(r.Directory)
	if err != nil {
		return err.Error()
	}
	for _, trial := range run.Trials {
		text += fmt.Sprintln(trial.Block, trial.Environment, trial.Status, trial.Reason, trial.Warnings)
	}
	return text
}

// nothingLeft fails where anything is left behind.
func (r *Run) nothingLeft(name string) {
	r.t.Helper()
	left := r.Home.Left(r.t)
	// The kernel removes a network namespace, and the interfaces in it, some time after its
	// last process.
	for deadline := time.Now().Add(time.Minute); len(left) > 0 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		left = r.Home.Left(r.t)
	}
	for _, line := range left {
		rowOf(name).left++
		r.t.Errorf("%s: left behind: %s", name, line)
	}
}
