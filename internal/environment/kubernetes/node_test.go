package kubernetes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/linux/cgroup"
	"tare/internal/testing/needs"
)

// As Kata Containers lays it out on cgroup v2: the guest is below the pod, and its parent,
// the shim, in a group apart and in the network namespace of the node.
func TestAPodOfKataIsFoundWithItsGuestAndWhatServesIt(t *testing.T) {
	needs.Root(t)
	const uid, sandbox = "7a3e0c51-5cfa-4211-a1a4-7e12e3da6c15", "155c6c3b4d023fb1c60f3d0ae64a6a297447ba569c3e0eb4f400e50944e6064c"
	const pod, around = "/tare-test-kata/pod" + uid, "/kata_overhead/" + sandbox
	program := filepath.Join(t.TempDir(), "containerd-shim-kata-v2")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nsleep 600 &\necho $!\nread line\nkill $!\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program)
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	guest := 0
	if _, err := fmt.Fscan(output, &guest); err != nil {
		t.Fatal(err)
	}
	groups := map[string]int{pod + "/kata_" + sandbox: guest, around: c.Process.Pid}
	t.Cleanup(func() {
		_, _ = input.Close(), c.Wait()
		for path := range groups {
			if group, err := cgroup.At(path); err != nil || group.Kill(context.WithoutCancel(t.Context())) != nil || group.Remove() != nil {
				t.Errorf("the group %s is left (%v)", path, err)
			}
			for path = filepath.Dir(path); path != "/"; path = filepath.Dir(path) {
				if above, err := cgroup.At(path); err == nil {
					above.RemoveEmpty()
				}
			}
		}
	})
	for path, pid := range groups {
		group, err := cgroup.Create(path, cgroup.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := group.Add(pid); err != nil {
			t.Fatal(err)
		}
	}
	found, err := findPod(t.Context(), defaults(), uid)
	if err != nil {
		t.Fatal(err)
	}
	footprint := found.Footprint()
	if !slices.Equal(footprint.Cgroups, []string{pod}) || len(footprint.Processes) != 1 || footprint.Processes[0].PID != c.Process.Pid {
		t.Errorf("it is in %q, with the processes %v besides", footprint.Cgroups, footprint.Processes)
	}
	if footprint.Early != around {
		t.Errorf("it started in the group %q", footprint.Early)
	}
	if footprint.NetworkPID != 0 {
		t.Errorf("the node's network is taken for the pod's: process %d", footprint.NetworkPID)
	}
	if !found.Details().LimitedInside {
		t.Error("the limits in the guest do not count")
	}
}
