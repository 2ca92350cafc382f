package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/testing/needs"
)

// Every workload here is real: its servers, its driver, what they print.
func TestTheWorkloadsRunNativelyAndInAContainer(t *testing.T) {
	needs.Minutes(t, "makes an image with all servers and tools")
	needsInstances(t)
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "run")
	p := h.tare(t, "run", "packs.yaml", "--quiet", "--out", out)
	status, rest := p.end()
	text, err := os.ReadFile(filepath.Join(out, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var trial rundir.Trial
		if err := json.Unmarshal([]byte(line), &trial); err != nil {
			t.Fatal(err)
		}
		boots := trial.Workload != "boot" || trial.Environment != "native" // which is skipped with the reason
		if trial.Status != rundir.OK && (boots || trial.Status != rundir.Skipped) {
			t.Errorf("%s in %s: %s: %s", trial.Workload, trial.Environment, trial.Status, trial.Reason)
		}
		if _, there := trial.Metrics["latency_p99"]; trial.Workload == "nginx-h2load" && !there {
			t.Errorf("%s in %s has no 99th percentile: %q", trial.Workload, trial.Environment, trial.Missing)
		}
		// What the setup wrote is in the page cache, and stays there until a sample reads it.
		if u := trial.Usage; trial.Workload == "fio-buffered" && u != nil && u.DiskRead.Value > 8<<20 { // programs and libraries are read too
			t.Errorf("buffered reads in %s: %.0f bytes of 16 MiB come from the disk", trial.Environment, u.DiskRead.Value)
		}
		seen[trial.Environment]++
		if want := map[string]int{"redis": 1, "nginx-h2load": 1, "iperf3": 1, "mysql-oltp": 2}[trial.Workload]; want > 0 && len(trial.Amounts) != want {
			t.Errorf("%s in %s: the amounts are %v", trial.Workload, trial.Environment, trial.Amounts)
		}
	}
	grid, err := os.ReadFile(filepath.Join(out, "raw/block-001/native.iozone-grid/driver.stdout"))
	if n := strings.Count(string(grid), "iozone test complete."); err != nil || n == 0 || n%3 != 0 { // in each sample
		t.Errorf("IOzone has measured %d files of 64, 128 and 256 KiB: %v\n%s", n, err, grid)
	}
	if seen["native"] < 20 || seen["docker"] != seen["native"] && seen["docker"] != 0 {
		t.Errorf("trials: %v", seen)
	}
	// Last, since it is long: what failed stands above it.
	if status != 0 {
		t.Errorf("status %d\n%s\n%s", status, rest, p.errs.String())
	}
	h.clean(t)
}
