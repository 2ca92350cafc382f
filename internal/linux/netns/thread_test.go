package netns

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"tare/internal/testing/needs"
)

// A child that the kernel ends with the thread that started it must not end
// because that thread was in a namespace later.
func TestAThreadThatWasInANamespaceLivesOn(t *testing.T) {
	needs.Root(t)
	var children []*exec.Cmd
	for range 4 * runtime.GOMAXPROCS(0) {
		cmd := exec.Command("cat")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		started := make(chan error)
		go func() { started <- cmd.Start() }()
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		children = append(children, cmd)
	}
	home, err := os.Readlink(own)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		space, err := New()
		needs.Working(t, "the right to make network namespaces", err)
		err = Within(space, func() error {
			if inside, _ := os.Readlink(own); inside == home {
				t.Error("it was not inside")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		space.Close()
	}
	for _, cmd := range children {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Fatalf("a child is gone: %v", err)
		}
		var status syscall.WaitStatus
		if pid, _ := syscall.Wait4(cmd.Process.Pid, &status, syscall.WNOHANG, nil); pid != 0 {
			t.Fatalf("a child was ended by %v", status.Signal())
		}
	}
	if after, _ := os.Readlink(own); after != home {
		t.Error("this thread is in another namespace")
	}
}
