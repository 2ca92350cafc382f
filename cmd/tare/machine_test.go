package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tare/internal/base/bounded"
	"tare/internal/environment/remote"
	"tare/internal/host/cleanup"
	"tare/internal/rundir"
	"tare/internal/testing/sshhost"
	"tare/internal/testing/testenv"
)

const farStudy = `study: on another machine
baseline: %s
limits: {cpus: 1, memory: 256MiB}
environments:
%s  far: {kind: machine, ssh: %q, identity: %q, known_hosts: %q, config: none, home: %q}
workloads:
  - {use: %q, pause: %q}
design: {fresh: trial, blocks: %d}
`

// furnish gives a home on another machine the images and the program, as an earlier run
// there leaves them. A run copies what it does not find.
func furnish(t *testing.T, there string) {
	t.Helper()
	if err := os.MkdirAll(there, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testenv.Images(), filepath.Join(there, "images")); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(there, ownProgramAt(t))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program, at); err != nil && !errors.Is(err, syscall.EXDEV) {
		t.Fatal(err)
	}
}

// ownProgramAt is where a home has the program.
func ownProgramAt(t *testing.T) string {
	t.Helper()
	sum, err := ownSum()
	if err != nil {
		t.Fatal(err)
	}
	return remote.ProgramAt(sum)
}

// ownSum is the program's checksum.
var ownSum = sync.OnceValues(func() (string, error) { return bounded.Sum(program) })

// far is a machine over SSH, and a study of it.
func far(t *testing.T, baseline, others, pause string, blocks int) (m *sshhost.Machine, there, study string) {
	t.Helper()
	m = sshhost.New(t).Machine(t)
	there = t.TempDir()
	furnish(t, there)
	pack, err := filepath.Abs("testdata/tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := m.Destination()
	study = filepath.Join(t.TempDir(), "far.yaml")
	text := fmt.Sprintf(farStudy, baseline, others, d.Host, d.Identity, d.KnownHosts, there, pack, pause, blocks)
	if err := os.WriteFile(study, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return m, there, study
}

// emptyThere waits until nothing of tare is on the other machine.
func emptyThere(t *testing.T, there string) {
	t.Helper()
	waitFor(t, "the end of what ran on the other machine", func() bool {
		alive, err := cleanup.Alive(there)
		left, _ := filepath.Glob(filepath.Join(there, "work", "[^.]*"))
		return err == nil && len(alive)+len(left) == 0
	})
}

func TestAStudyComparesThisMachineWithAnother(t *testing.T) {
	h := aHome(t)
	_, there, study := far(t, "native", "  native: {}\n", "0.01", 3)
	directory := filepath.Join(t.TempDir(), "run")
	p := h.tare(t, "run", study, "--quiet", "--out", directory)
	if status, output := p.end(); status != 0 {
		t.Fatalf("status %d: %s%s", status, output, p.errs.String())
	}
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, trial := range run.Trials {
		if trial.Status == rundir.OK && trial.Environment == "far" && trial.Usage.CPU().Missing == "" && len(trial.Warnings) == 0 {
			ran++
		} else if trial.Environment == "far" {
			t.Errorf("%+v", trial)
		}
	}
	if ran != 3 {
		t.Errorf("%d trials ran on the other machine", ran)
	}
	emptyThere(t, there)
	h.clean(t)
}

// A trial whose machine is cut off fails with the reason, and leaves nothing on
// either side.
func TestATrialOnAMachineThatIsCutOffFailsWithTheReason(t *testing.T) {
	h := aHome(t)
	m, there, study := far(t, "far", "", "1000", 1)
	directory := filepath.Join(t.TempDir(), "run")
	p := h.tare(t, "run", study, "--only", "far", "--json", "--out", directory)
	waitFor(t, "the driver on the other machine", func() bool {
		begun, _ := filepath.Glob(filepath.Join(there, "work", "*", "*far*", "root"))
		return len(begun) > 0
	})
	m.Cut(t)
	if status, output := p.end(); status != 3 {
		t.Errorf("status %d: %s%s", status, output, p.errs.String())
	}
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	failed := ""
	for _, trial := range run.Trials {
		if trial.Environment == "far" {
			failed = trial.Reason
		}
	}
	t.Log(failed)
	if !strings.Contains(failed, "the link to tare on root@"+m.Address) {
		t.Errorf("the trial's reason is %q", failed)
	}
	emptyThere(t, there)
	h.clean(t)
}
