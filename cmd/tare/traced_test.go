package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"tare/internal/rundir"
)

var objectID = regexp.MustCompile(`(?m)^(prog|map|link)_id:\s*(\d+)`)

// watching are the programs, maps and links of BPF that a process holds, as the
// kernel numbers them.
func watching(pid int) map[string]bool {
	held := map[string]bool{}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, id := range objectID.FindAllSubmatch(text, -1) {
			held[string(id[1])+" "+string(id[2])] = true
		}
	}
	return held
}

// gone says whether the kernel has a program or a map of BPF no longer.
func gone(t *testing.T, object string) bool {
	t.Helper()
	var kind string
	var id uint32
	fmt.Sscan(object, &kind, &id)
	var err error
	switch kind {
	case "prog":
		var p *ebpf.Program
		if p, err = ebpf.NewProgramFromID(ebpf.ProgramID(id)); err == nil {
			p.Close()
		}
	case "map":
		var m *ebpf.Map
		if m, err = ebpf.NewMapFromID(ebpf.MapID(id)); err == nil {
			m.Close()
		}
	default:
		return true // a link holds its program
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("asking for %s: %v", object, err)
	}
	return err != nil
}

// All that watches the kernel goes with a tare that is killed, in the middle of
// the first traced trial and of the last; the run goes on with those that are
// missing, and nothing stays.
func TestWhatWatchesTheKernelGoesWithAKilledTare(t *testing.T) {
	needsKind(t, "docker")
	h := aHome(t)
	directory := filepath.Join(filepath.Dir(h.directory), "run")
	session := []string{"run", "traced.yaml", "--json", "--out", directory}
	var kept []byte
	for _, block := range []string{"block-002", "block-003"} {
		p := h.tare(t, session...)
		session = []string{"run", "--json", "--resume", directory}
		raw := filepath.Join(directory, "raw", block, "docker.tiny", "driver.stderr")
		waitFor(t, "the driver of a traced trial", func() bool {
			text, _ := os.ReadFile(raw)
			return len(text) > 0
		})
		held := watching(p.Process.Pid)
		p.Process.Kill()
		p.end()
		if len(held) == 0 {
			t.Skip("needs BPF: without it nothing of tare watches the kernel")
		}
		t.Logf("%s: %d objects were held", block, len(held))
		waitFor(t, "the end of what watched the kernel", func() bool {
			for object := range held {
				if !gone(t, object) {
					return false
				}
			}
			return true
		})
		kept = grown(t, directory, kept)
	}
	p := h.tare(t, "clean")
	if status, output := p.end(); status != 0 {
		t.Errorf("tare clean: status %d: %s%s", status, output, p.errs.String())
	}
	h.clean(t)
	p = h.tare(t, session...)
	if status, _ := p.end(); status != 0 {
		t.Fatalf("the last session ended with status %d: %s", status, p.errs.String())
	}
	grown(t, directory, kept)
	h.clean(t)
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	noneTwice(t, run.Journal())
	if len(run.Trials) != 2 || len(run.Traced) != 4 {
		t.Errorf("%d trials, and %d traced ones", len(run.Trials), len(run.Traced))
	}
	for _, trial := range run.Traced {
		if trial.Evidence == nil {
			t.Errorf("a traced trial of %s has no evidence", trial.Environment)
		}
	}
	p = h.tare(t, "report", directory, "--format", "md")
	status, _ := p.end()
	if text, err := os.ReadFile(filepath.Join(directory, "report.md")); status != 0 || !strings.Contains(string(text), "Kernel events") {
		t.Errorf("the report ended with status %d, %v: %s\n%s", status, err, p.errs.String(), text)
	}
}
