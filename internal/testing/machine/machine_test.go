package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/linux/kvm"
	"tare/internal/testing/needs"
)

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	os.Exit(m.Run())
}

// home of all tests, with the images that the disk was made with.
const home = "/var/lib/tare"

// needsMachine skips the test elsewhere.
func needsMachine(t *testing.T) {
	t.Helper()
	needs.Root(t)
	if os.Getenv("TARE_TEST_MACHINE") == "" {
		t.Skip("needs a machine of its own: make test-machine")
	}
}

// tare runs a command and returns its standard output.
func tare(t *testing.T, words ...string) string {
	t.Helper()
	return output(t, exec.CommandContext(t.Context(), "tare", words...))
}

func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var out, problem bytes.Buffer
	c.Stdout, c.Stderr = &out, &problem
	began := time.Now()
	err := c.Run()
	t.Logf("%q: %.1f s, %v", c.Args, time.Since(began).Seconds(), err)
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", c.Args, err, out.String(), problem.String())
	}
	return out.String()
}

// asUser is a command of the ordinary user's in a session as a login makes one.
func asUser(t *testing.T, line string) *exec.Cmd {
	return exec.CommandContext(t.Context(), "systemd-run", "--quiet", "--pipe", "--wait", "--collect", "--uid=user", "--property=PAMName=login", "--working-directory=/home/user",
		"bash", "-lc", line)
}

// found is what doctor says of one kind.
type found struct {
	Kind, State, Label string
	Findings           []struct{ State, Reason, Fix string }
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// doctor reads the output of tare doctor --json.
func doctor(t *testing.T, text string) map[string]found {
	t.Helper()
	var said struct{ Environments []found }
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	kinds := map[string]found{}
	for _, f := range said.Environments {
		kinds[f.Kind] = f
	}
	return kinds
}

// result is what bench measured in one environment.
type result struct {
	Environment, Label string
	Times              []float64
}

// bench reads the last line of the output of tare bench --json.
func bench(t *testing.T, text string) []result {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var said struct{ Results []result }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &said); err != nil || len(said.Results) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	return said.Results
}

func TestDoctorFindsWhatWorks(t *testing.T) {
	needsMachine(t)
	kinds := doctor(t, tare(t, "doctor", "--json"))
	for _, kind := range []string{"native", "bubblewrap", "docker", "podman", "oci", "gvisor", "qemu"} {
		if f := kinds[kind]; f.State != "usable" || f.Label != "" {
			t.Errorf("%s is %+v", kind, f)
		}
	}
	if t.Failed() {
		t.Log(tare(t, "doctor"))
	}
}

func TestAContainerAndAGuestWithKVMAreMeasured(t *testing.T) {
	needsMachine(t)
	results := bench(t, tare(t, "bench", "--env", "native,docker,qemu", "--runs", "2", "--json", "--", "true"))
	nothingLeft(t)
	if len(results) != 3 {
		t.Fatalf("%+v", results)
	}
	for _, r := range results {
		if len(r.Times) != 2 || r.Label != "" {
			t.Errorf("%+v", r)
		}
	}
}

// delegated is the documentation's command. systemd delegates cpu, memory and pids.
const delegated = "systemd-run --user --scope --quiet -p Delegate=yes "

func TestAnOrdinaryUserMeasuresWithTheDocumentedCommand(t *testing.T) {
	needsMachine(t)
	if f := doctor(t, output(t, asUser(t, delegated+"tare doctor --json")))["native"]; f.State == "missing" {
		t.Errorf("with a delegated subtree native is %+v: %s", f, output(t, asUser(t, delegated+"tare doctor")))
	}
	if f := doctor(t, output(t, asUser(t, "tare doctor --json")))["native"]; f.State != "missing" {
		t.Errorf("without one native is %+v", f)
	}
	// In the files of the machine nothing is made.
	for _, r := range bench(t, output(t, asUser(t, delegated+"tare bench --env native --runs 2 --json -- true"))) {
		if len(r.Times) != 2 || r.Label != "user namespace, host rootfs" {
			t.Errorf("%+v", r)
		}
	}
	nothingLeft(t)
}

// Making an image of packages takes root; a file of one does not.
func TestAnOrdinaryUserRunsAStudyWithLimits(t *testing.T) {
	needsMachine(t)
	directory := t.TempDir()
	study := filepath.Join(directory, "study.yaml")
	write(t, study, "study: limits\nenvironments: {native: {}}\nworkloads: [{use: startup}]\ndesign: {blocks: 2}\n")
	tare(t, "save", study, filepath.Join(directory, "image.tar"))
	write(t, study, "study: limits\nimage: {reference: \"tar:image.tar\"}\nenvironments: {native: {}}\n"+
		"limits: {cpus: 0.5, memory: 256MiB, pids: 100}\nworkloads: [{use: startup}]\ndesign: {blocks: 2}\n")
	for _, name := range []string{"study.yaml", "image.tar"} {
		output(t, exec.CommandContext(t.Context(), "install", "--owner=user", filepath.Join(directory, name), "/home/user/"+name))
	}
	if said := output(t, asUser(t, delegated+"tare run study.yaml")); !strings.Contains(said, "user namespace") {
		t.Error(said)
	}
	if said := output(t, asUser(t, delegated+"tare clean")); !strings.Contains(said, "nothing was left") {
		t.Error(said)
	}
	nothingLeft(t)
}

// nothingLeft looks for what tare makes on this machine, where nobody else makes such.
func nothingLeft(t *testing.T) {
	t.Helper()
	if said := tare(t, "clean"); !strings.Contains(said, "nothing was left") {
		t.Errorf("tare clean: %s", said)
	}
	for what, line := range map[string]string{
		"processes":  "pgrep -a 'tare|qemu-system' || true",
		"cgroups":    "find /sys/fs/cgroup -mindepth 1 -type d -name 'tare*' -exec find {} -mindepth 2 -type d ';'",
		"containers": "for engine in docker podman; do ! command -v $engine >/dev/null || $engine ps --all --quiet; done",
		"networks":   "! command -v docker >/dev/null || docker network ls --quiet --filter label=tare.owner; ls /sys/class/net | grep -i tare || true",
		"mounts":     "grep -F " + home + "/work /proc/mounts || true",
		"loops":      "losetup --list --noheadings",
		"work":       "for d in " + home + "/work /home/user/.local/share/tare/work; do [ ! -d $d ] || find $d -mindepth 1 ! -name '.lock*'; done",
	} {
		if left := strings.TrimSpace(output(t, exec.CommandContext(t.Context(), "sh", "-c", line))); left != "" {
			t.Errorf("%s are left: %s", what, left)
		}
	}
}

// A run that is killed in the middle leaves what runs: clean ends it.
func TestCleanRemovesWhatAKilledRunLeaves(t *testing.T) {
	needsMachine(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := exec.CommandContext(ctx, "tare", "bench", "--env", "native,docker,qemu", "--runs", "100", "--json", "--", "sleep", "1")
	events, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(events)
	seen := []string{}
	for len(seen) < 3 {
		var event struct {
			Event string
			Slot  struct{ Environment string }
		}
		if err := decoder.Decode(&event); err != nil {
			t.Fatalf("after %q: %v", seen, err)
		}
		if name := event.Slot.Environment; event.Event == "tried" && !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
	}
	cancel() // kills it
	_ = run.Wait()
	t.Log(tare(t, "clean"))
	nothingLeft(t)
}
