package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Servers have the first half of the cores and drivers the last. A machine with eight is
// made with CPUS=8; with NODES=2 each half is a NUMA node.
func TestDriverAndServerHaveAHalfOfTheCoresEach(t *testing.T) {
	needsMachine(t)
	directory := t.TempDir()
	write(t, filepath.Join(directory, "halves.yaml"), `workload: halves
title: the cores of both roles
stresses: cpu
image: {}
roles:
  server: {about: says its cores}
  driver: {about: says its cores}
servers:
  - run: grep Cpus_allowed_list /proc/self/status >/data/server && exec sleep 3600
    role: server
    ready: {exec: [test, -s, /data/server]}
driver:
  run: echo "cores $(cut -f 2 /data/server) $(grep Cpus_allowed_list /proc/self/status | cut -f 2)"
  role: driver
metrics:
  - {name: wall_seconds, unit: s, better: lower, primary: true}
`)
	study := filepath.Join(directory, "study.yaml")
	write(t, study, "study: halves\nenvironments: {native: {}, oci: {}, bubblewrap: {}}\nworkloads: [{use: ./halves.yaml}]\ndesign: {blocks: 1}\n")
	run := filepath.Join(directory, "run")
	t.Log(tare(t, "run", study, "--out", run))
	nothingLeft(t)
	said, err := filepath.Glob(filepath.Join(run, "raw", "block-*", "*", "driver.stdout"))
	if err != nil || len(said) != 3 {
		t.Errorf("drivers of %d environments: %q, %v", len(said), said, err)
	}
	half := runtime.NumCPU() / 2
	want := fmt.Sprintf("cores 0-%d %d-%d\n", half-1, half, 2*half-1)
	for _, file := range said {
		text, err := os.ReadFile(file)
		if err != nil || strings.ReplaceAll(string(text), want, "") != "" {
			t.Errorf("%s: %v, and not %q alone: %q", file, err, want, text)
		}
	}
}
