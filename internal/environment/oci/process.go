package oci

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"tare/internal/base/crash"
)

// adopter records a process with the owner, so that clean-up finds it if tare is
// killed.
type adopter func(pid int, role string) (forget func(), err error)

// process is one that tare started for an instance.
type process struct {
	*os.Process
	role   string
	ended  chan struct{}
	forget func()
	// requestExit makes a process exit that has a way to be told; nil for others.
	requestExit func() error
}

// prelude is a shell script that joins cgroups, unmounts a cgroup hierarchy, mounts
// file systems, and then executes the program. It runs in a new mount namespace, so
// that its mounts end with the program.
const prelude = `
while [ "$1" != -- ]; do echo 0 >"$1" || exit 1; shift; done; shift
if [ -n "$1" ]; then umount "$1" || exit 1; fi; shift
while [ "$1" != -- ]; do mount -t "$1" -o "$2" "$3" "$4" || exit 1; shift 4; done; shift
exec "$@"`

// preparation is what the prelude does before it executes the program.
type preparation struct {
	join   []string // cgroup.procs files to write 0 into
	hide   string   // a mount point to unmount; "" for none
	mounts []mount
}

// mount is what mount(8) takes.
type mount struct{ kind, options, from, to string }

// command is the command line of a program with its prelude.
func (b preparation) command(program ...string) *exec.Cmd {
	words := append([]string{"-c", prelude, "sh"}, b.join...)
	words = append(words, "--", b.hide)
	for _, m := range b.mounts {
		words = append(words, m.kind, m.options, m.from, m.to)
	}
	words = append(words, "--")
	c := exec.Command("/bin/sh", append(words, program...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setsid: true}
	return c
}

// start starts a process and records it with the owner.
func start(c *exec.Cmd, role string, adopt adopter, requestExit func() error) (*process, error) {
	p := &process{role: role, ended: make(chan struct{}), requestExit: requestExit, forget: func() {}}
	started := make(chan error, 1)
	crash.Go(func() {
		// A parent-death signal is sent when the thread that forked exits, so this
		// goroutine keeps its thread until the process has exited.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			_ = c.Wait()
			close(p.ended)
		}
	})
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	p.Process = c.Process
	forget, err := adopt(p.Pid, role)
	if err != nil {
		p.Kill()
		<-p.ended
		return nil, err
	}
	p.forget = forget
	return p, nil
}

// end makes the process exit and waits for it; kill sends SIGKILL.
func (p *process) end(ctx context.Context, kill bool) error {
	var err error
	if p.requestExit != nil {
		err = p.requestExit()
		p.requestExit = nil
	}
	if kill {
		p.Kill()
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
	}
	select { // again: it may have exited when the time was up already
	case <-p.ended:
	default:
		return fmt.Errorf("%s (process %d) does not exit: %w", p.role, p.Pid, context.Cause(ctx))
	}
	p.forget()
	return err
}
