package cgroup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"pgregory.net/rapid"

	"tare/internal/base/quantity"
	"tare/internal/testing/needs"
)

func tree(t *testing.T, mounts string) *Tree {
	t.Helper()
	list, err := mountinfo.GetMountsFromReader(strings.NewReader(mounts), mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := treeOf(list)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestTheMountTableTellsTheMode(t *testing.T) {
	v2 := "30 1 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
	v1 := "31 1 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"32 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"33 1 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
	hybrid := v1 + "34 1 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for mounts, want := range map[string]string{v2: "v2", v1: "v1", hybrid: "hybrid"} {
		if got := tree(t, mounts).Mode(); got != want {
			t.Errorf("mode %q, want %q, of\n%s", got, want, mounts)
		}
	}
	if _, err := treeOf(nil); err == nil || !strings.Contains(err.Error(), "no cgroup hierarchy is mounted") {
		t.Errorf("a machine without cgroups: %v", err)
	}
	group := tree(t, hybrid).At("/tare/a/b")
	want := []string{"/sys/fs/cgroup/unified/tare/a/b/cgroup.procs", "/sys/fs/cgroup/cpu,cpuacct/tare/a/b/cgroup.procs",
		"/sys/fs/cgroup/memory/tare/a/b/cgroup.procs"}
	if diff := cmp.Diff(want, group.ProcsFiles()); diff != "" {
		t.Errorf("controllers that share a mount share a file:\n%s", diff)
	}
}

// recorded makes a directory that looks like a v2 hierarchy with one group.
func recorded(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return V2(filepath.Join(root, "cgroup"), filepath.Join(root, "proc"))
}

func TestV2LimitsAreWrittenAndReadBack(t *testing.T) {
	tree := recorded(t, map[string]string{
		"cgroup/cgroup.controllers":          "cpuset cpu io memory pids\n",
		"cgroup/cgroup.subtree_control":      "cpu memory\n",
		"cgroup/tare/cgroup.controllers":     "cpu memory\n",
		"cgroup/tare/cgroup.subtree_control": "cpu memory\n",
		"cgroup/tare/x/cpu.max":              "max 100000\n",
		"cgroup/tare/x/memory.max":           "max\n",
		"cgroup/tare/x/memory.swap.max":      "max\n",
		"cgroup/tare/x/cgroup.procs":         "17\n4\n",
		"cgroup/tare/x/sub/cgroup.procs":     "23\n0\n",
	})
	limits := Limits{CPUs: 1.5, Memory: 512 * quantity.MiB, PIDs: 100, Cores: []int{0, 1, 3}}
	g, err := tree.Create("/tare/x", limits)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"cpu.max": "150000 100000", "memory.max": "536870912", "memory.swap.max": "0"} {
		if got := readString(filepath.Join(tree.unified, "tare/x", file)); got != want {
			t.Errorf("%s holds %q, want %q", file, got, want)
		}
	}
	if got := readString(filepath.Join(tree.unified, "cgroup.subtree_control")); got != "+pids" {
		t.Errorf("the last controller switched on at the root is %q", got)
	}
	for _, s := range g.Check(limits) {
		if want := s.Limit == "cpus" || s.Limit == "memory"; s.Holds != want {
			t.Errorf("it holds: %t, of %s", s.Holds, s)
		}
		if !s.Holds && !strings.Contains(s.Seen, "the "+map[string]string{"pids": "pids", "cores": "cpuset"}[s.Limit]+" controller is not on for this group") {
			t.Errorf("it says %s", s)
		}
	}
	pids, err := g.PIDs()
	if err != nil || !reflect.DeepEqual(pids, []int{4, 17, 23}) {
		t.Errorf("processes %v, %v", pids, err)
	}
}

func TestALimitThatReadsBackDifferentlyIsNamed(t *testing.T) {
	tree := recorded(t, map[string]string{
		"cgroup/x/memory.max":      "max\n",
		"cgroup/x/memory.swap.max": "max\n",
		"proc/swaps":               "Filename Type Size Used Priority\n/dev/sda2 partition 8 0 -2\n",
	})
	output := ""
	for _, s := range tree.At("/x").Check(Limits{Memory: quantity.GiB}) {
		output += s.String() + "\n"
	}
	for _, want := range []string{"memory: 1GiB requested, but ", "x/memory.max shows none\n", "swapoff -a"} {
		if !strings.Contains(output, want) {
			t.Errorf("%q is missing in: %s", want, output)
		}
	}
}

func TestV2UsageIsReadFromItsFiles(t *testing.T) {
	tree := recorded(t, map[string]string{
		"cgroup/x/cpu.stat":       "usage_usec 5000000\nuser_usec 4000000\nsystem_usec 1000000\nthrottled_usec 7\n",
		"cgroup/x/y/cpu.stat":     "usage_usec 1\nuser_usec 1\nsystem_usec 0\nthrottled_usec 3\n",
		"cgroup/x/memory.current": "1000000\n",
		"cgroup/x/memory.peak":    "1500000\n",
		"cgroup/x/memory.stat":    "anon 300000\nfile 600000\nkernel 100000\nshmem 50000\ninactive_file 400000\n",
		"cgroup/x/io.stat":        "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n7:0 rbytes=100 wbytes=100\n8:16 \n",
		"proc/9/cgroup":           "0::/x\n",
	})
	g, err := tree.Of(9)
	if err != nil {
		t.Fatal(err)
	}
	c := g.Counter()
	defer c.Close()
	cpu, err := c.CPU()
	if want := (CPU{5 * time.Second, 4 * time.Second, time.Second, 10 * time.Microsecond}); err != nil || cpu != want {
		t.Errorf("CPU %+v, %v; want %+v", cpu, err, want)
	}
	memory, err := c.MemorySince(Memory{}, false)
	want := Memory{Current: 1000000, Cache: 600000, Shmem: 50000}
	if err != nil || memory != want || memory.WorkingSet() != 450000 {
		t.Errorf("memory %+v, %v; want %+v", memory, err, want)
	}
	io, err := c.IO(func(device []byte) bool { return !bytes.HasPrefix(device, []byte("7:")) })
	if err != nil || io != (IO{4096, 8192, 1, 2}) {
		t.Errorf("IO %+v, %v", io, err)
	}
	if _, err := tree.At("/gone").Counter().CPU(); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a group that is gone reads %v", err)
	}
}

func TestTheExactTotalIsDividedInTheSampledProportion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, 1e15)
		draw := func(name string) time.Duration { return time.Duration(ns.Draw(t, name)) }
		before := CPU{Total: draw("total"), User: draw("user"), System: draw("system")}
		after := CPU{Total: before.Total + draw("Δtotal"), User: before.User + draw("Δuser"), System: before.System + draw("Δsystem")}
		user, system := after.Since(before)
		if user < 0 || system < 0 || user+system != after.Total-before.Total {
			t.Fatalf("user %v and system %v of %v", user, system, after.Total-before.Total)
		}
	})
}

func TestTheCoresOfANodeAndTheHyperthreadsOfACoreFollowEachOther(t *testing.T) {
	for _, c := range []struct {
		name        string
		siblings    []string // by core; "" for no file
		nodes       []int    // by core; nil for a kernel without NUMA
		cores, want []int
	}{
		{"numbered in a second turn", []string{"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"}, nil, []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0, 4, 1, 5, 2, 6, 3, 7}},
		{"numbered together", []string{"0-1", "0-1", "2-3", "2-3"}, nil, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{"no hyperthreads", []string{"0", "1", "2", "3"}, nil, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{"some cores of the machine", []string{"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"}, nil, []int{1, 2, 5, 6}, []int{1, 5, 2, 6}},
		{"a kernel that does not say it", []string{"0,2", "", "0,2", ""}, nil, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{"nodes in turns", []string{"0", "1", "2", "3"}, []int{0, 1, 0, 1}, []int{0, 1, 2, 3}, []int{0, 2, 1, 3}},
		{"nodes and hyperthreads in turns", []string{"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"}, []int{0, 1, 0, 1, 0, 1, 0, 1}, []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0, 4, 2, 6, 1, 5, 3, 7}},
		{"more nodes than ten", []string{"0", "1", "2"}, []int{10, 2, 2}, []int{0, 1, 2}, []int{1, 2, 0}},
	} {
		sys := t.TempDir()
		for core, text := range c.siblings {
			topology := fmt.Sprintf("%s/cpu%d/topology", sys, core)
			if err := os.MkdirAll(topology, 0o755); err != nil {
				t.Fatal(err)
			}
			if c.nodes != nil {
				if err := os.Mkdir(fmt.Sprintf("%s/cpu%d/node%d", sys, core, c.nodes[core]), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if text == "" {
				continue
			}
			if err := os.WriteFile(topology+"/thread_siblings_list", []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := byTopology(c.cores, sys); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestListsOfCoresReadBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := map[int]bool{}
		for _, c := range rapid.SliceOf(rapid.IntRange(0, 200)).Draw(t, "cores") {
			set[c] = true
		}
		cores := []int{}
		for c := 0; c <= 200; c++ {
			if set[c] {
				cores = append(cores, c)
			}
		}
		if back := ParseCores(FormatCores(cores)); !reflect.DeepEqual(back, cores) {
			t.Fatalf("%v came back as %v", cores, back)
		}
	})
}

// real makes a group on this machine that the test removes.
func real(t *testing.T, l Limits) *Group {
	t.Helper()
	needs.Root(t)
	if Mode() == "" {
		t.Skip("needs a cgroup hierarchy: none is mounted")
	}
	top, err := At("/tare-test-cgroup")
	if err != nil {
		t.Fatal(err)
	}
	g, err := Create(filepath.Join("/tare-test-cgroup", strings.ToLower(t.Name())), l)
	needs.Working(t, "cgroups that can be written to", err)
	t.Cleanup(func() {
		if err := g.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
		_ = top.Remove()
	})
	return g
}

func TestLimitsTakeHoldOnThisMachine(t *testing.T) {
	l := Limits{CPUs: 0.5, Memory: 64 * quantity.MiB, PIDs: 50, Cores: []int{0}}
	g := real(t, l)
	tree, _ := Host()
	controllers := map[string]string{"cpus": "cpu", "cores": "cpuset", "swap": "memory"}
	for _, s := range g.Check(l) {
		controller := s.Limit
		if c, other := controllers[s.Limit]; other {
			controller = c
		}
		if !s.Holds && slices.Contains(tree.Controllers(), controller) {
			t.Errorf("a limit did not take effect: %s", s)
		}
	}
	if _, err := tree.Create(g.Path()+"/nowhere", Limits{Cores: []int{5000}}); err == nil || !strings.Contains(err.Error(), "the cores of") {
		t.Errorf("a core that this machine does not have: %v", err)
	}
	if tree.At(g.Path() + "/nowhere").Exists() {
		t.Error("a group that could not be limited stayed behind")
	}
}

func TestKillEndsAllThatRunsBelowAGroup(t *testing.T) {
	g := real(t, Limits{})
	below, err := Create(g.Path()+"/below", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	// A shell that joins by itself and keeps starting children.
	script := `for f in "$@"; do echo 0 > "$f" || exit 1; done; sleep 1000 & sleep 1000 & echo in; while :; do sleep 0.01; done`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, below.ProcsFiles()...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	word := make([]byte, 2)
	if _, err := out.Read(word); err != nil || string(word) != "in" {
		t.Fatalf("the shell did not join: %q, %v", word, err)
	}
	pids, err := g.PIDs()
	if err != nil || len(pids) < 3 || !slices.Contains(pids, cmd.Process.Pid) {
		t.Fatalf("the group below holds %v, %v; the shell is %d", pids, err, cmd.Process.Pid)
	}
	of, err := Of(cmd.Process.Pid)
	if err != nil || of.Path() != below.Path() {
		t.Errorf("the shell is in %v, %v", of, err)
	}
	if err := g.Remove(); err == nil || !strings.Contains(err.Error(), "still in it") {
		t.Errorf("removing a group with processes: %v", err)
	}
	if err := g.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if pids, err := g.PIDs(); err != nil || len(pids) != 0 {
		t.Errorf("after the kill %v, %v are left", pids, err)
	}
	// What a container engine made in a hierarchy that nobody here asks goes too.
	tree, _ := Host()
	for _, mount := range tree.rest {
		if err := os.MkdirAll(filepath.Join(mount, below.Path()), 0o755); err != nil {
			t.Logf("without %s: %v", mount, err)
		}
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if g.Exists() {
		t.Error("the group is still there")
	}
	if err := g.Remove(); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}

func TestKillRefusesTheGroupOfTheCaller(t *testing.T) {
	g, err := Of(os.Getpid())
	needs.Working(t, "a cgroup hierarchy", err)
	if len(g.own()) == 0 {
		t.Skip("needs a test that runs in a group below the root")
	}
	if err := g.Kill(context.Background()); err == nil || !strings.Contains(err.Error(), "is this one") {
		t.Errorf("killing the own group: %v", err)
	}
}
