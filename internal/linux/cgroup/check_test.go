package cgroup

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"tare/internal/base/quantity"
)

// The files of testdata/v2 were read from a machine of v2 alone, with a group
// as systemd makes one for Docker.
func theRecorded(t *testing.T) (*Tree, *Group) {
	t.Helper()
	tree := V2("testdata/v2/sys/fs/cgroup", "testdata/v2/proc")
	g, err := tree.Of(102)
	if err != nil {
		t.Fatal(err)
	}
	return tree, g
}

func TestLimitsOfARecordedV2MachineAreSeen(t *testing.T) {
	_, g := theRecorded(t)
	asked := Limits{CPUs: 0.5, Memory: 192 * quantity.MiB, PIDs: 400, Cores: []int{0},
		IO: Throttle{Device: "254:0", Read: 8 * quantity.MiB, Write: 2 * quantity.MiB, ReadOps: 5000}}
	if g.Path() != "/system.slice/docker-4f5a2c9f0f3b.scope" {
		t.Errorf("the process is in %s", g.Path())
	}
	limits := g.Check(asked)
	if len(limits) != len(asked.Requested()) {
		t.Errorf("%d of %d limits were looked at", len(limits), len(asked.Requested()))
	}
	for _, s := range limits {
		if !s.Holds {
			t.Error(s)
		}
	}
	other := Limits{CPUs: 1, Memory: quantity.GiB, PIDs: 401, Cores: []int{0, 1},
		IO: Throttle{Device: "254:0", Read: quantity.MiB, WriteOps: 10}}
	for _, s := range g.Check(other) {
		if s.Holds {
			t.Error(s)
		}
	}
	other.IO.Device, other.IO.Read = "8:0", 8*quantity.MiB
	for _, s := range g.Check(Limits{IO: other.IO}) {
		if s.Holds || s.Seen != "none" {
			t.Errorf("another disk: %s", s)
		}
	}
}

func TestUsageOfARecordedV2MachineIsRead(t *testing.T) {
	tree, g := theRecorded(t)
	c := g.Counter()
	defer c.Close()
	cpu, err := c.CPU()
	if want := (CPU{706036 * time.Microsecond, 599927 * time.Microsecond, 106109 * time.Microsecond, 583312 * time.Microsecond}); err != nil || cpu != want {
		t.Errorf("CPU %+v, %v", cpu, err)
	}
	memory, err := c.MemorySince(Memory{}, false)
	if want := (Memory{Current: 1855488, Cache: 1454080, Faults: 359, MajorFaults: 2}); err != nil || memory != want {
		t.Errorf("memory %+v, %v", memory, err)
	}
	io, err := c.IO(nil)
	if err != nil || io != (IO{143360, 1310720, 6, 1}) {
		t.Errorf("disk %+v, %v", io, err)
	}
	if got := strings.Join(tree.Controllers(), " "); got != "cpu cpuacct cpuset io memory pids" {
		t.Errorf("controllers %s", got)
	}
}

func TestALimitOfAGroupAboveBindsAsWell(t *testing.T) {
	tree := recorded(t, map[string]string{
		"cgroup/a/memory.max":            "1048576\n",
		"cgroup/a/cpu.max":               "100000 100000\n",
		"cgroup/a/pids.max":              "100\n",
		"cgroup/a/io.max":                "8:0 rbps=1000 wbps=max riops=max wiops=max\n",
		"cgroup/a/scope/memory.max":      "2097152\n",
		"cgroup/a/scope/cpu.max":         "max 100000\n",
		"cgroup/a/scope/pids.max":        "max\n",
		"cgroup/a/scope/io.max":          "",
		"cgroup/a/scope/leaf/cpu.max":    "max 100000\n",
		"cgroup/a/scope/leaf/io.max":     "",
		"cgroup/a/scope/leaf/pids.max":   "max\n",
		"cgroup/a/scope/leaf/memory.max": "max\n",
	})
	leaf := tree.At("/a/scope/leaf")
	for _, s := range leaf.Check(Limits{CPUs: 1, Memory: quantity.MiB, PIDs: 100, IO: Throttle{Device: "8:0", Read: 1000}}) {
		if !s.Holds {
			t.Error(s)
		}
	}
	// Tighter than asked is not what was asked.
	for _, s := range leaf.Check(Limits{Memory: 2 * quantity.MiB}) {
		if s.Holds || s.Seen != "1MiB" || !strings.HasSuffix(s.Where, "/a/memory.max") {
			t.Error(s)
		}
	}
}

// What a process in a container sees of a hybrid machine: each hierarchy begins
// at its own group.
func TestAContainersCgroupsAreReadFromItsOwnView(t *testing.T) {
	files := map[string]string{
		"/proc/self/mountinfo": "32 31 0:29 /docker/c1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n" +
			"33 31 0:30 /docker/c1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n" +
			"34 31 0:31 /docker/c1 /sys/fs/cgroup/blkio ro - cgroup cgroup rw,blkio\n" +
			"35 31 0:32 /docker/c1 /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n",
		"/proc/self/cgroup":                                   "7:blkio:/docker/c1\n4:memory:/docker/c1\n1:cpu:/docker/c1\n0::/docker/c1\n",
		"/proc/swaps":                                         "Filename Type Size Used Priority\n/dev/sda2 partition 8 0 -2\n",
		"/sys/fs/cgroup/cpu/cpu.cfs_quota_us":                 "150000\n",
		"/sys/fs/cgroup/cpu/cpu.cfs_period_us":                "100000\n",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes":         "201326592\n",
		"/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes":   "201326592\n",
		"/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device": "254:0 1048576\n",
	}
	tree, err := Through(func(file string) ([]byte, error) {
		if text, there := files[file]; there {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	})
	if err != nil {
		t.Fatal(err)
	}
	own, err := tree.Own()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range own.Check(Limits{CPUs: 1.5, Memory: 192 * quantity.MiB, PIDs: 9, IO: Throttle{Device: "254:0", Read: quantity.MiB}}) {
		if seen[s.Limit] = true; s.Holds == (s.Limit == "pids") {
			t.Error(s)
		}
	}
	if len(seen) != 5 { // with swap
		t.Errorf("seen: %v", seen)
	}
}
