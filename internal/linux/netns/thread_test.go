package netns

import (
	"errors"
	"fmt"
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
	home, err := os.Readlink(own)
	if err != nil {
		t.Fatal(err)
	}
	err = keepsChildren(func() error {
		space, err := New()
		needs.Working(t, "the right to make network namespaces", err)
		defer space.Close()
		return Within(space, func() error {
			if inside, _ := os.Readlink(own); inside == home {
				return errors.New("it was not inside")
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Readlink(own); after != home {
		t.Errorf("this thread was in %s and is in %s", home, after)
	}
}

// Nor because it was refused.
func TestAThreadThatMayEnterNoNamespaceLivesOn(t *testing.T) {
	needs.Root(t) // to become another user
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "TARE_TEST_NETNS=refused")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64126, Gid: 64126}}
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

// keepsChildren starts children on several threads, calls a function often, and reports
// a child that has ended.
func keepsChildren(do func() error) error {
	var children []*exec.Cmd
	for range 4 * runtime.GOMAXPROCS(0) {
		cmd := exec.Command("cat")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		started := make(chan error)
		go func() { started <- cmd.Start() }()
		if err := <-started; err != nil {
			return err
		}
		defer cmd.Wait()
		defer in.Close()
		children = append(children, cmd)
	}
	for range 200 {
		if err := do(); err != nil {
			return err
		}
	}
	for _, cmd := range children {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			return fmt.Errorf("a child is gone: %w", err)
		}
		var status syscall.WaitStatus
		if pid, _ := syscall.Wait4(cmd.Process.Pid, &status, syscall.WNOHANG, nil); pid != 0 {
			return fmt.Errorf("a child was ended by %v", status.Signal())
		}
	}
	return nil
}
