package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/testing/testenv"
)

func aHome(t *testing.T) home {
	t.Helper()
	needsInstances(t)
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func needsKind(t *testing.T, kind string) {
	t.Helper()
	r, ok := environment.Lookup(kind)
	if !ok {
		t.Fatalf("the kind %s is not registered", kind)
	}
	testenv.NeedsKind(t, kind, r.Options())
}

// awaitUnlocked waits until nobody holds the lock of a run's directory. A process that is
// killed between a fork and an exec leaves a child that holds it until the exec.
func awaitUnlocked(t *testing.T, directory string) {
	t.Helper()
	lock, err := os.Open(filepath.Join(directory, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		defer lock.Close()
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A run is killed at many points, chosen by a fixed seed, from its first
// moments to its last block, and taken up again each time. What was finished
// stays as it was, byte for byte, and is never run again; nothing of what a
// killed session started stays.
func TestARunThatIsKilledAgainAndAgainLosesAndRepeatsNothing(t *testing.T) {
	needsKind(t, "docker")
	h, dice := aHome(t), rand.New(rand.NewPCG(1, 2))
	const kills, blocks, trialsABlock = 14, 8, 4
	directory := filepath.Join(filepath.Dir(h.directory), "run")
	session := []string{"run", "killed.yaml", "--json", "--out", directory}
	var kept []byte
	tried := 0 // sessions that began a trial before they were killed
	for n := range kills {
		p := h.tare(t, session...)
		// So many events are heard, and then some time passes: the first sessions
		// die while they start.
		events, more := 0, time.Duration(dice.IntN(250))*time.Millisecond
		if n > 2 {
			events = 1 + dice.IntN(24)
		}
		trying := false
		for range events {
			if !p.lines.Scan() {
				t.Fatalf("session %d ended before it was killed: %s", n, p.errs.String())
			}
			trying = trying || strings.Contains(p.lines.Text(), `"trying"`)
		}
		if trying {
			tried++
		}
		time.AfterFunc(more, func() { p.Process.Kill() })
		p.end()
		awaitUnlocked(t, directory)
		kept = grown(t, directory, kept)
		t.Logf("killed %v after event %d: %d trials", more, events, bytes.Count(kept, []byte("\n")))
		if _, err := os.Stat(filepath.Join(directory, "manifest.json")); err == nil {
			session = []string{"run", "--json", "--resume", directory}
		}
	}
	if done := bytes.Count(kept, []byte("\n")); done == 0 || done == blocks*trialsABlock || tried < 3 || tried == kills {
		t.Fatalf("%d trials were done when the last session was killed, and %d sessions had begun one: that is no test", done, tried)
	}
	p := h.tare(t, session...)
	if status, _ := p.end(); status != 0 {
		t.Fatalf("the last session ended with status %d: %s", status, p.errs.String())
	}
	grown(t, directory, kept)
	h.clean(t)
	p = h.tare(t, "clean")
	if status, output := p.end(); status != 0 || output != "nothing was left behind\n" {
		t.Errorf("tare clean: status %d: %s%s", status, output, p.errs.String())
	}
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	noneTwice(t, run.Trials)
	if len(run.Trials) != blocks*trialsABlock || len(run.Manifest.Sessions) < tried+1 {
		t.Errorf("%d trials in %d sessions: %d were killed after they had begun a trial", len(run.Trials), len(run.Manifest.Sessions), tried)
	}
	if wrong, err := run.Verify(); err != nil || len(wrong) > 0 {
		t.Errorf("%q, %v", wrong, err)
	}
	unfinished, _ := filepath.Glob(filepath.Join(directory, ".*"))
	if len(unfinished) > 0 {
		t.Errorf("half-written files are left: %q", unfinished)
	}
}

// grown reads a run's journal up to its last whole line and fails where that is
// not a continuation of what it was.
func grown(t *testing.T, directory string, was []byte) []byte {
	t.Helper()
	is, err := os.ReadFile(filepath.Join(directory, "journal.jsonl"))
	if err != nil && len(was) > 0 {
		t.Fatal(err)
	}
	is = is[:bytes.LastIndexByte(is, '\n')+1]
	if !bytes.HasPrefix(is, was) {
		t.Fatalf("the journal was\n%s\nand is\n%s", was, is)
	}
	return is
}

// noneTwice fails where a trial was made twice, or not well.
func noneTwice(t *testing.T, trials []rundir.Trial) {
	t.Helper()
	seen := map[string]bool{}
	for _, trial := range trials {
		key := fmt.Sprint(trial.Block, trial.Environment, trial.Workload, trial.Level)
		if seen[key] {
			t.Errorf("%s was run twice", key)
		}
		seen[key] = true
		if trial.Status != rundir.OK {
			t.Errorf("%s is %s: %s", key, trial.Status, trial.Reason)
		}
	}
}

// A signal ends a run in order: nothing stays, and it can go on.
func TestASignalEndsARunInOrder(t *testing.T) {
	needsKind(t, "docker")
	h := aHome(t)
	directory := filepath.Join(filepath.Dir(h.directory), "run")
	var kept []byte
	for n, c := range []struct {
		signal os.Signal
		when   []string
		args   []string
	}{
		{syscall.SIGINT, []string{`"preparing"`}, []string{"run", "killed.yaml", "--blocks", "2", "--out", directory}},
		{syscall.SIGINT, []string{`"trying"`, `"docker"`}, []string{"run", "--resume", directory}},
		{syscall.SIGTERM, []string{`"trying"`, `"native"`}, []string{"run", "--resume", directory}},
		{syscall.SIGHUP, []string{`"tried"`}, []string{"run", "--resume", directory}},
	} {
		p := h.tare(t, append(c.args, "--json")...)
		if !p.until(c.when...) {
			t.Fatalf("session %d printed nothing of %q: %s", n, c.when, p.errs.String())
		}
		if err := p.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		status, _ := p.end()
		if output := p.errs.String(); status != 130 || !strings.Contains(output, "continue with `tare run --resume "+directory) {
			t.Errorf("%v at %q: status %d: %s", c.signal, c.when, status, output)
		}
		h.clean(t)
		kept = grown(t, directory, kept)
	}
	p := h.tare(t, "run", "--json", "--resume", directory)
	if status, _ := p.end(); status != 0 {
		t.Errorf("status %d: %s", status, p.errs.String())
	}
	grown(t, directory, kept)
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	noneTwice(t, run.Trials)
	if len(run.Trials) != 2*4 {
		t.Errorf("%d trials", len(run.Trials))
	}
	h.clean(t)
}

// A guest does not outlive the tare that is killed, neither while it is being
// prepared nor while it runs; the next start removes the rest.
func TestAGuestGoesWithAKilledTare(t *testing.T) {
	needsKind(t, "qemu")
	h := aHome(t)
	directory := filepath.Join(filepath.Dir(h.directory), "run")
	p := h.tare(t, "run", "guest.yaml", "--json", "--out", directory)
	if !p.until(`"preparing"`, "vm: disk") {
		t.Fatal(p.errs.String())
	}
	p.Process.Kill()
	p.end()
	if h.left() == nil {
		t.Error("the killed session left nothing: that is no test")
	}
	p = h.tare(t, "run", "--json", "--resume", directory)
	raw := filepath.Join(directory, "raw", "block-001", "vm.tiny", "driver.stderr")
	waitFor(t, "the driver in the guest", func() bool { _, err := os.Stat(raw); return err == nil })
	p.Process.Kill()
	p.end()
	p = h.tare(t, "clean")
	if status, output := p.end(); status != 0 || !strings.Contains(output, "removed ") {
		t.Errorf("status %d: %s%s", status, output, p.errs.String())
	}
	h.clean(t)
	p = h.tare(t, "run", "--json", "--resume", directory)
	if status, _ := p.end(); status != 0 {
		t.Errorf("status %d: %s", status, p.errs.String())
	}
	h.clean(t)
}

// waitFor polls for something that nobody tells of. An emulated guest beside the other tests
// has taken more than a minute to start.
func waitFor(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
