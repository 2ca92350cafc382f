package shims

import (
	"os/exec"
	"slices"
	"testing"

	"tare/internal/base/crash"
	"tare/internal/linux/cgroup"
	"tare/internal/testing/needs"
)

// A shim of Kata Containers that is killed leaves its QEMU, whose name has the container's.
func TestAGuestThatLostItsShimIsEnded(t *testing.T) {
	const id = "155c6c3b4d023fb1c60f3d0ae64a6a297447ba569c3e0eb4f400e50944e6064c"
	start := func(program, argument string) *exec.Cmd {
		// In place of the program a shell waits for the end of its input.
		c := exec.CommandContext(t.Context(), "/bin/sh")
		c.Args = []string{program, "-c", "read line", argument}
		if _, err := c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
		return c
	}
	mine := []*exec.Cmd{start("/usr/bin/qemu-system-x86_64", "sandbox-"+id), start("/usr/libexec/virtiofsd", "--shared-dir=/shared/"+id)}
	others := []*exec.Cmd{start("/usr/bin/qemu-system-x86_64", "sandbox-0"+id[1:]), start("/usr/bin/docker", id)}
	found := Serving(id)
	for n, c := range append(mine, others...) {
		if is := slices.ContainsFunc(found, func(p *Process) bool { return p.PID == c.Process.Pid }); is != (n < len(mine)) {
			t.Errorf("%q is found: %t", c.Args, is)
		}
	}
	if err := EndAll(t.Context(), found); err != nil {
		t.Error(err)
	}
	if left := Serving(id); len(left) > 0 {
		t.Errorf("left is process %d", left[0].PID)
	}
}

// Kata Containers leaves the group in which a guest started; those of others stay.
func TestTheGroupOfAGuestIsEndedByAWholeIDAlone(t *testing.T) {
	needs.Root(t)
	top, err := cgroup.At("/kata_overhead")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(top.RemoveEmpty)
	const mine, other = "tare-test-shims-b1-kata-1", "tare-test-shims-b1-kata-12"
	for _, id := range []string{mine, other} {
		group, err := cgroup.Create("/kata_overhead/"+id, cgroup.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = group.Remove() })
		c := exec.CommandContext(t.Context(), "sleep", "600")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		crash.Go(func() { ended <- c.Wait() })
		t.Cleanup(func() { _, _ = c.Process.Kill(), <-ended })
		if err := group.Add(c.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"", ".", "..", "/", "a/b", "../kata_overhead", mine[:10]} {
		if path := Overhead(id); path != "" {
			t.Errorf("%q is the id of %s", id, path)
		}
	}
	if err := EndOverhead(t.Context(), mine); err != nil || Overhead(mine) != "" {
		t.Errorf("%v, left is %q", err, Overhead(mine))
	}
	if group, err := cgroup.At(Overhead(other)); err != nil {
		t.Error(err)
	} else if pids, err := group.PIDs(); err != nil || len(pids) != 1 {
		t.Errorf("in another group are %v, %v", pids, err)
	}
}
