package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tare/internal/host/cleanup"
	"tare/internal/linux/cgroup"
	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// docker runs the engine's own command line, as a user would.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	output, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %q: %v: %s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

// What does not carry the label of this home's dead owners is not touched:
// other people's containers, another home's, those of a run that is under way,
// and groups.
func TestNothingOfOthersIsTouched(t *testing.T) {
	needsKind(t, "docker")
	needs.Program(t, "docker")
	h := aHome(t)
	running := h.tare(t, "run", "waiting.yaml", "--json", "--out", filepath.Join(t.TempDir(), "run"))
	var ours string
	waitFor(t, "the run's container", func() bool {
		ours = docker(t, "ps", "-q", "--no-trunc", "--filter", "label="+cleanup.HomeLabel+"="+h.directory)
		return ours != ""
	})
	img := strings.Replace(testenv.Image(t).Digest, "sha256:", "localhost/tare:", 1)
	others := map[string]string{}
	for what, labels := range map[string][]string{
		"somebody's container":             nil,
		"one with a label of the same key": {cleanup.Label + "=" + h.ids + "aaaaaa"},
		"another home's container":         {cleanup.Label + "=" + h.ids + "aaaaaa", cleanup.HomeLabel + "=/elsewhere"},
	} {
		args := []string{"run", "-d", "--rm", "--network=none"}
		for _, l := range labels {
			args = append(args, "--label", l)
		}
		id := docker(t, append(args, img, "sleep", "1000")...)
		others[what] = id
		t.Cleanup(func() { docker(t, "kill", id) })
	}
	for _, path := range []string{"/not-tare/group", cleanup.CgroupRoot() + "/bystander/group"} {
		group, err := cgroup.Create(path, cgroup.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			group.Remove()
			if parent, err := cgroup.At(filepath.Dir(path)); err == nil {
				parent.RemoveEmpty()
			}
		})
	}
	for _, args := range [][]string{{"clean"}, {"run", "study.yaml", "--quiet", "--blocks", "1"}} {
		p := h.tare(t, args...)
		if status, output := p.end(); status != 0 {
			t.Errorf("%q: status %d: %s%s", args, status, output, p.errs.String())
		}
	}
	alive := docker(t, "ps", "-q", "--no-trunc")
	for what, id := range others {
		if !strings.Contains(alive, id) {
			t.Errorf("%s is gone", what)
		}
	}
	if !strings.Contains(alive, ours) {
		t.Error("the container of a run that is under way is gone")
	}
	for _, path := range []string{"/not-tare/group", cleanup.CgroupRoot() + "/bystander/group"} {
		if group, err := cgroup.At(path); err != nil || !group.Exists() {
			t.Errorf("the group %s is gone (%v)", path, err)
		}
	}
	running.Process.Signal(os.Interrupt)
	if status, _ := running.end(); status != 130 {
		t.Errorf("the run that was under way ended with status %d: %s", status, running.errs.String())
	}
	h.clean(t)
}

// An instance that is killed in the middle of a trial is that trial's failure,
// with the reason, and the run goes on.
func TestAnInstanceThatIsKilledFailsItsTrialAndTheRunGoesOn(t *testing.T) {
	needsKind(t, "docker")
	needs.Program(t, "docker")
	h := aHome(t)
	directory := filepath.Join(t.TempDir(), "run")
	p := h.tare(t, "run", "two.yaml", "--json", "--out", directory)
	for range 2 {
		if !p.until(`"trying"`, `"workload":"waits"`) {
			t.Fatal(p.errs.String())
		}
		var event struct{ Slot struct{ Environment string } }
		if err := json.Unmarshal(p.lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		where := event.Slot.Environment
		waitFor(t, "the driver in "+where, func() bool {
			_, err := os.Stat(filepath.Join(directory, "raw", "block-001", where+".waits", "driver.stderr"))
			return err == nil
		})
		h.kill(t, where)
		if !p.until(`"tried"`, `"failed"`) {
			t.Fatal(p.errs.String())
		}
	}
	if status, _ := p.end(); status != 3 || !strings.Contains(p.errs.String(), "2 of 4 trials failed") {
		t.Errorf("status %d: %s", status, p.errs.String())
	}
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range run.Trials {
		failed := trial.Status == rundir.Failed && strings.Contains(trial.Reason, "the agent is gone")
		if failed != (trial.Workload == "waits") {
			t.Errorf("%s in %s: %s %s", trial.Workload, trial.Environment, trial.Status, trial.Reason)
		}
	}
	h.clean(t)
}

// kill ends the one instance of an environment that runs, from outside.
func (h home) kill(t *testing.T, environment string) {
	t.Helper()
	if environment == "docker" {
		docker(t, "kill", docker(t, "ps", "-q", "--filter", "label="+cleanup.HomeLabel+"="+h.directory))
		return
	}
	groups, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, file := range groups {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), cleanup.CgroupRoot()+"/"+h.ids) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A disk that is full ends the run with a word about it; what was measured is
// kept, and with more room the run goes on.
func TestAFullDiskEndsARunThatCanGoOn(t *testing.T) {
	h := aHome(t)
	disk := t.TempDir()
	if err := syscall.Mount("tare-test", disk, "tmpfs", 0, "size=400k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	directory := filepath.Join(disk, "run")
	p := h.tare(t, "run", "loud-study.yaml", "--out", directory)
	status, _ := p.end()
	if output := p.errs.String(); status != 1 || !strings.Contains(output, "no space left on device") ||
		!strings.Contains(output, "trials are kept in "+directory) || !strings.Contains(output, "tare run --resume "+directory) {
		t.Errorf("status %d: %s", status, output)
	}
	h.clean(t)
	kept := grown(t, directory, nil)
	if len(kept) == 0 {
		t.Error("nothing was kept")
	}
	if err := syscall.Mount("tare-test", disk, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	p = h.tare(t, "run", "--resume", directory)
	if status, _ := p.end(); status != 0 {
		t.Errorf("with more room: status %d: %s", status, p.errs.String())
	}
	grown(t, directory, kept)
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	noneTwice(t, run.Trials)
	h.clean(t)
}
