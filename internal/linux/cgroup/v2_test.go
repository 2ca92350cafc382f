package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tare/internal/base/quantity"
	"tare/internal/linux/fsinfo"
	"tare/internal/testing/needs"
)

// The tests of this file need a machine whose only hierarchy is v2; a virtual
// machine that another package starts is one.

// TestMain plays the part of a process that was put into a place of its own.
func TestMain(m *testing.M) {
	part := map[string]func() error{"container": inContainer, "delegated": inDelegated, "hybrid": inHybrid}[os.Getenv("TARE_TEST_PART")]
	if part == nil {
		goleak.VerifyTestMain(m)
	}
	if err := part(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func needsV2(t *testing.T) *Tree {
	t.Helper()
	if Mode() != "v2" || os.Geteuid() != 0 {
		t.Skipf("needs cgroup v2 alone, and root: this machine's cgroups are %q", Mode())
	}
	tree, err := Host()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// part starts this program in a group, in namespaces or as a user of its own.
func part(t *testing.T, name string, g *Group, how syscall.SysProcAttr) {
	t.Helper()
	fd, err := unix.Open(g.dirs[""], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	how.UseCgroupFD, how.CgroupFD = true, fd
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "TARE_TEST_PART="+name)
	cmd.SysProcAttr = &how
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

var small = Limits{CPUs: 0.5, Memory: 64 * quantity.MiB, PIDs: 50, Cores: []int{0}}

// held makes a group with limits, looks at them, has a process join, and removes it. Those
// of a controller that this process does not have are reported.
func held(path string) error {
	g, err := Create(path, small)
	if err != nil {
		return err
	}
	controller := map[string]string{"cpus": "cpu", "memory": "memory", "swap": "memory", "pids": "pids", "cores": "cpuset"}
	_, there := g.tree.Delegated()
	if there == nil {
		there = g.tree.Controllers()
	}
	var problems []error
	for _, s := range g.Check(small) {
		if s.Holds != slices.Contains(there, controller[s.Limit]) {
			problems = append(problems, fmt.Errorf("with the controllers %q: %s", there, s))
		}
	}
	if output, err := joining(g, "exit 0").CombinedOutput(); err != nil {
		problems = append(problems, fmt.Errorf("joining it: %w: %s", err, output))
	}
	return errors.Join(append(problems, g.Remove())...)
}

// joining is a script that runs in a group.
func joining(g *Group, script string) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", `for p in "$@"; do echo 0 >"$p" || exit 1; done; ` + script, "sh"}, g.ProcsFiles()...)...)
}

func TestEveryControllerWorksOnV2(t *testing.T) {
	tree := needsV2(t)
	for _, c := range []string{"cpu", "cpuset", "io", "memory", "pids"} {
		if !slices.Contains(tree.Controllers(), c) {
			t.Errorf("this kernel has no controller %s", c)
		}
	}
	g := real(t, small)
	for _, s := range g.Check(small) {
		if t.Log(s); !s.Holds {
			t.Errorf("a limit did not take effect: %s", s)
		}
	}
	// A group of an engine's may lie below the one with the limits.
	below, err := Create(g.Path()+"/below", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range below.Check(small) {
		if !s.Holds {
			t.Errorf("a limit of the group above is not seen: %s", s)
		}
	}
	if err := below.Remove(); err != nil {
		t.Error(err)
	}
}

func TestV2ThrottlesADisk(t *testing.T) {
	needsV2(t)
	file := filepath.Join(t.TempDir(), "file")
	disk, err := fsinfo.DiskBelow(filepath.Dir(file))
	needs.Working(t, "a disk", err)
	l := Limits{IO: Throttle{Device: disk, Read: 8 * quantity.MiB, Write: 2 * quantity.MiB, ReadOps: 500, WriteOps: 400}}
	g := real(t, l)
	limits := g.Check(l)
	for _, s := range limits {
		if t.Log(s); !s.Holds {
			t.Errorf("a limit did not take effect: %s", s)
		}
	}
	if len(limits) != 4 {
		t.Errorf("%d of four limits were looked at", len(limits))
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", `f=$1; shift; for p in "$@"; do echo 0 > "$p" || exit 1; done; exec dd if=/dev/zero of="$f" bs=64k count=64 conv=fsync`, "sh", file},
		g.ProcsFiles()...)...)
	began := time.Now()
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("4 MiB at 2 MiB a second took %v", took)
	}
}

// A container's processes lie in the very group that it sees as the root.
func TestCgroupsCanBeCreatedInAContainerWithProcesses(t *testing.T) {
	needsV2(t)
	box := real(t, Limits{Memory: quantity.GiB})
	part(t, "container", box, syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP})
}

func inContainer() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Unmount("/sys/fs/cgroup", unix.MNT_DETACH); err != nil {
		return err
	}
	if err := unix.Mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mounting its own view: %w", err)
	}
	before, err := os.ReadFile("/sys/fs/cgroup/cgroup.procs")
	if err != nil || !strings.Contains(string(before), fmt.Sprintln(os.Getpid())) {
		return fmt.Errorf("its root holds %q, %w", before, err)
	}
	if err := held("/tare/inside"); err != nil {
		return err
	}
	own, err := Of(os.Getpid())
	if err != nil || own.Path() != "/"+aside {
		return fmt.Errorf("it is in %v now, %w", own, err)
	}
	// And once more, for there is nothing left to be moved.
	return held("/tare/again")
}

// A user's session has a subtree of its own, and nothing else: with all controllers where
// an administrator wrote so, with these three by systemd's default. cpu and pids alone the
// kernel enables above processes too, and then no process can join a group below.
func TestAnOrdinaryUserMakesGroupsInTheSubtreeThatWasDelegated(t *testing.T) {
	tree := needsV2(t)
	for _, controllers := range []string{"cpu cpuset io memory pids", "cpu memory pids", "cpu pids", "memory pids"} {
		t.Run(controllers, func(t *testing.T) {
			g := real(t, Limits{})
			for _, c := range strings.Fields(controllers) { // systemd's Delegate=
				if err := write(filepath.Join(g.dirs[""], "cgroup.subtree_control"), "+"+c); err != nil {
					t.Fatal(err)
				}
			}
			scope := tree.At(g.Path() + "/scope")
			if err := os.Mkdir(scope.dirs[""], 0o755); err != nil {
				t.Fatal(err)
			}
			const user = 1000
			for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
				if err := os.Chown(filepath.Join(scope.dirs[""], name), user, user); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("TARE_TEST_CONTROLLERS", controllers)
			part(t, "delegated", scope, syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}})
			if err := scope.Kill(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func inDelegated() error {
	tree, err := Host()
	if err != nil {
		return err
	}
	top := tree.Top()
	want := append(strings.Fields(os.Getenv("TARE_TEST_CONTROLLERS")), "cpuacct")
	slices.Sort(want)
	if _, controllers := tree.Delegated(); filepath.Base(top) != "scope" || !slices.Equal(controllers, want) {
		return fmt.Errorf("the subtree %q has the controllers %q", top, controllers)
	}
	if err := tree.Writable(); err != nil {
		return err
	}
	if _, err := Create("/tare/elsewhere", small); err == nil {
		return errors.New("a user could make a group at the root")
	}
	if err := held(top + "/tare/x"); err != nil {
		return err
	}
	if again := tree.Top(); again != top {
		return fmt.Errorf("after its own move the subtree is %q, not %q", again, top)
	}
	return held(top + "/tare/y")
}

// On a hybrid machine a user can have a subtree of the v2 hierarchy, which has no
// controller: what it holds is counted, frozen and killed there, and not limited.
func TestAnOrdinaryUserMakesGroupsInTheV2HierarchyOfAHybridMachine(t *testing.T) {
	if Mode() != "hybrid" {
		t.Skipf("needs cgroups v1 and v2: this machine's are %q", Mode())
	}
	scope := real(t, Limits{})
	const user = 1000
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(scope.dirs[""], name), user, user); err != nil {
			t.Fatal(err)
		}
	}
	part(t, "hybrid", scope, syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}})
	if err := scope.Kill(context.Background()); err != nil {
		t.Error(err)
	}
}

func inHybrid() (err error) {
	tree, err := Host()
	if err == nil {
		err = tree.Writable()
	}
	if err != nil {
		return err
	}
	top, controllers := tree.Delegated()
	if got := fmt.Sprint(controllers); top == "" || got != "[cpuacct]" {
		return fmt.Errorf("the subtree %q has the controllers %s", top, got)
	}
	g, err := Create(top+"/tare/x", small)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Remove()) }()
	for _, s := range g.Check(small) {
		if s.Holds || !strings.Contains(s.Seen, "controller is not on for this group") {
			return fmt.Errorf("a limit without a controller: %s", s)
		}
	}
	// It works for longer than a tick: what a task has used since its last one may not be
	// counted yet while it runs.
	child := joining(g, "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; echo in; exec sleep 600")
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return err
	}
	if _, err := out.Read(make([]byte, 3)); err != nil {
		return fmt.Errorf("joining it: %w", err)
	}
	counter := g.Counter()
	defer counter.Close()
	cpu, err := counter.CPU()
	if err != nil || cpu.Total <= 0 {
		return errors.Join(fmt.Errorf("its CPU time is %v", cpu), err)
	}
	freezer := g.Freezer(true)
	ctx := context.Background()
	if err := errors.Join(freezer.Freeze(ctx), freezer.Thaw(ctx), g.Kill(ctx)); err != nil {
		return err
	}
	if err := child.Wait(); err == nil {
		return errors.New("the process in it was not killed")
	}
	return nil
}
