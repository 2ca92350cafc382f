package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestBoundsOfARecordedV2MachineAreRead(t *testing.T) {
	_, g := theRecorded(t)
	b := g.Bounds()
	for what, c := range map[string]struct {
		got  Bound
		want string
	}{
		"cpus": {b.CPUs, "0.5"}, "period": {b.Period, "100000"}, "memory": {b.Memory, "201326592"}, "pids": {b.PIDs, "400"}, "cores": {b.Cores, "0"}, "weight": {b.Weight, ""}, "swap": {b.Swap, "0"},
	} {
		if c.got.Value != c.want {
			t.Errorf("%s: %+v, want %q", what, c.got, c.want)
		}
	}
}

// v1 has a limit for memory and swap together, and a group above may be tighter.
func TestBoundsOfV1AreTheTightestOfAllGroupsAbove(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"cpu/a/cpu.cfs_quota_us": "50000\n", "cpu/a/cpu.cfs_period_us": "100000\n", "cpu/a/b/cpu.cfs_quota_us": "-1\n", "cpu/a/b/cpu.cfs_period_us": "20000\n", "cpu/a/b/cpu.shares": "1024\n",
		"memory/a/memory.limit_in_bytes": "9223372036854771712\n", "memory/a/b/memory.limit_in_bytes": "1048576\n", "memory/a/b/memory.memsw.limit_in_bytes": "3145728\n",
		"proc/1/cgroup":    "2:cpu:/a/b\n3:memory:/a/b\n",
		"proc/self/cgroup": "2:cpu:/a/b\n3:memory:/a/b\n",
	} {
		file := filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree := V1(map[string]string{"cpu": root + "/cpu", "memory": root + "/memory"}, root+"/proc")
	b := tree.At("/a/b").Bounds()
	for what, c := range map[string]struct {
		got  Bound
		want string
	}{"cpus": {b.CPUs, "0.5"}, "period": {b.Period, "none"}, "weight": {b.Weight, "1024"}, "memory": {b.Memory, "1048576"}, "swap": {b.Swap, "2097152"}} {
		if c.got.Value != c.want {
			t.Errorf("%s: %+v, want %q", what, c.got, c.want)
		}
	}
	if b.PIDs.Missing == "" || b.Cores.Missing == "" {
		t.Errorf("controllers that are not there have limits: %+v", b)
	}
}

// V1 returns a tree over directories with the layout of v1 hierarchies, by
// controller.
func V1(directories map[string]string, proc string) *Tree {
	t := &Tree{v1: map[string]string{}, rest: map[string]string{}, roots: map[string]string{}, proc: proc, read: os.ReadFile}
	for controller, directory := range directories {
		if t.roots[directory] = "/"; slices.Contains(known, controller) {
			t.rest[controller] = directory
		} else {
			t.v1[controller] = directory
		}
	}
	return t
}
