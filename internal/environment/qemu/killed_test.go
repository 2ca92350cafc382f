package qemu

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/environment/environmenttest"
	"tare/internal/owner"
	"tare/internal/quantity"
)

// A test that needs a tare of its own to kill starts this binary again.
func TestMain(m *testing.M) {
	if home := os.Getenv("TARE_TEST_HOME"); home != "" {
		fmt.Println("error:", hold(home))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// hold starts a guest, says what it is, and waits to be killed.
func hold(home string) error {
	ctx := context.Background()
	img, err := environmenttest.Get(ctx, nil)
	if err != nil {
		return err
	}
	o, err := owner.Open(home)
	if err != nil {
		return err
	}
	options := defaults()
	options.Accel, options.Data = "tcg", 64*quantity.MiB
	e := &vm{options: *options, roots: map[string]*template{}}
	i, err := e.Start(ctx, environment.Request{Name: "orphan", Owner: o, Image: img, Console: io.Discard})
	if err != nil {
		return err
	}
	fmt.Println(o.ID(), i.(*instance).vmm.pid)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func TestAGuestDiesWithAKilledTareAndWhatItLeavesIsSwept(t *testing.T) {
	newBench(t)
	home := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TARE_TEST_HOME="+home)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Sweep(context.Background(), home) })
	var id string
	var pid int
	_, said := fmt.Fscan(out, &id, &pid)
	guest, noGuest := unix.PidfdOpen(pid, 0)
	cmd.Process.Kill()
	cmd.Wait()
	if said != nil || noGuest != nil {
		t.Fatalf("the process said %q (%v); its guest: %v", id, said, noGuest)
	}
	defer unix.Close(guest)
	const patience = 20_000 // milliseconds; the kernel kills at once
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(guest), Events: unix.POLLIN}}, patience); n != 1 {
		t.Errorf("QEMU outlives a killed tare (%v)", err)
	}
	removed, err := owner.Sweep(t.Context(), home)
	if err != nil {
		t.Error(err)
	}
	t.Logf("swept: %q", removed)
	group, err := cgroup.At(owner.CgroupRoot + "/" + id + "/orphan")
	if err != nil {
		t.Fatal(err)
	}
	if group.Exists() {
		t.Error("the cgroup still stands")
	}
	if left, _ := filepath.Glob(filepath.Join(home, "work", id)); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
