package main

import (
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/testing/needs"
)

// Each example runs as it stands, once: natively, in Docker and in gVisor.
func TestTheExamplesRunInDockerAndGVisor(t *testing.T) {
	needs.Minutes(t, "makes images with the examples' servers and tools")
	needsInstances(t)
	needs.Program(t, "runsc")
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	studies, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, path := range studies {
		// The study of an example has the name of its directory; the others are packs, or need a cluster.
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if name != filepath.Base(filepath.Dir(path)) {
			continue
		}
		if name == "pods" {
			continue // its image is one of a registry: TestTheExampleInPodsRunsInDockerAndGVisor has another
		}
		ran++
		t.Run(name, func(t *testing.T) {
			if name != "job" {
				needs.LongForm(t, "makes an image with the example's servers and tools")
			}
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "run")
			p := h.tare(t, "run", path, "--blocks", "1", "--quiet", "--out", out)
			status, rest := p.end()
			run, err := rundir.Open(out)
			if err != nil {
				t.Fatalf("%v: status %d\n%s\n%s", err, status, rest, p.errs.String())
			}
			seen := map[string]int{}
			for _, trial := range run.Trials {
				if trial.Status != rundir.OK {
					t.Errorf("%s in %s: %s: %s", trial.Workload, trial.Environment, trial.Status, trial.Reason)
				}
				seen[trial.Environment]++
			}
			if n := len(run.Plan.Workloads); seen["native"] != n || seen["docker"] != n || seen["gvisor"] != n {
				t.Errorf("trials: %v, of %d workloads", seen, n)
			}
			if status != 0 {
				t.Errorf("status %d\n%s\n%s", status, rest, p.errs.String())
			}
		})
	}
	if ran < 3 {
		t.Errorf("%d examples in %q", ran, studies)
	}
	h.clean(t)
}
