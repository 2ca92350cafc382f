package vmm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/environment/support/console"

	"golang.org/x/sys/unix"
)

// Command is the command line and environment of a VMM's process.
type Command struct {
	Program   string
	Arguments []string
	Dir       string     // working directory; "" is the current one
	Files     []*os.File // inherited as descriptors 3, 4 ..., and closed here after the start
	// Namespace is the network namespace of the process; nil is the current one.
	Namespace *os.File
	// CleanExit is what exit status 0 means for the guest: VMMs exit with 0 when
	// their guest resets. "" means nothing.
	CleanExit string
}

// Process is the process of one VMM.
type Process struct {
	PID    int
	name   string // in messages: "QEMU"
	stderr *console.Console

	exited chan struct{} // closed after the process exited and its output was read
	status error         // of exec.Cmd.Wait; valid after exited

	mutex        sync.Mutex
	exitExpected bool   // an exit was requested
	stopReason   string // why the guest stopped, as the VMM reported; "" if it did not
	exitReason   string // how it exited, if unexpectedly
}

// start starts a VMM whose standard output is the guest's console. With
// PR_SET_PDEATHSIG the kernel kills it when this process dies.
func start(name string, c Command, to *console.Console) (*Process, error) {
	defer func() {
		for _, f := range c.Files {
			f.Close()
		}
	}()
	p := &Process{name: name, stderr: console.New(nil), exited: make(chan struct{})}
	cmd := exec.Command(c.Program, c.Arguments...)
	cmd.Dir, cmd.ExtraFiles = c.Dir, c.Files
	cmd.Stdout, cmd.Stderr = to, p.stderr
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:    true, // Ctrl-C must reach only tare, which then stops its guests
		Pdeathsig: syscall.SIGKILL,
	}
	started := make(chan error, 1)
	crash.Go(func() {
		// The parent-death signal is sent when the thread that forked exits, so
		// this goroutine keeps its thread until the process has exited.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := startIn(c.Namespace, cmd)
		started <- err
		if err == nil {
			p.noteExit(cmd.Wait(), c.CleanExit)
		}
	})
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Program, err)
	}
	p.PID = cmd.Process.Pid
	return p, nil
}

// startIn starts a program in a network namespace, and moves the thread back.
func startIn(space *os.File, cmd *exec.Cmd) error {
	if space == nil {
		return cmd.Start()
	}
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return fmt.Errorf("opening the thread's network namespace: %w", err)
	}
	defer home.Close()
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering the network namespace %s: %w", space.Name(), err)
	}
	started := cmd.Start()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.LockOSThread() // once more than unlocked, so that the runtime discards the thread
		return errors.Join(started, fmt.Errorf("returning to the thread's network namespace: %w", err))
	}
	return started
}

func (p *Process) noteExit(status error, cleanEnd string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.status = status
	if status == nil && p.stopReason == "" {
		p.stopReason = cleanEnd
	}
	if !p.exitExpected {
		p.exitReason = p.stopReason
		if p.exitReason == "" {
			p.exitReason = p.name + ": " + exitText(status)
		}
	}
	close(p.exited)
}

func exitText(status error) string {
	if status == nil {
		return "exit status 0"
	}
	return status.Error()
}

// expectExit records that an exit was requested.
func (p *Process) expectExit() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.exitExpected = true
}

// ExitExpected reports whether an exit was requested.
func (p *Process) ExitExpected() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.exitExpected
}

// SetStopReason records why the guest stopped, as its VMM reported. The first
// reason is kept.
func (p *Process) SetStopReason(why string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.stopReason = cmp.Or(p.stopReason, why)
}

// getStopReason returns why the guest stopped, "" if the VMM did not report it.
func (p *Process) getStopReason() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.stopReason
}

// unexpectedExit returns how the guest ended unexpectedly, "" if it did not.
func (p *Process) unexpectedExit() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.exitReason
}

// Kill kills the VMM. Waiters for the guest's agent return at once.
func (p *Process) Kill() error { return p.signal(syscall.SIGKILL) }

// Terminate sends SIGTERM to the process.
func (p *Process) Terminate() error { return p.signal(syscall.SIGTERM) }

func (p *Process) signal(s syscall.Signal) error {
	select {
	case <-p.exited: // the PID may be reused
		return nil
	default:
	}
	if err := syscall.Kill(p.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %v to %s (process %d): %w", s, p.name, p.PID, err)
	}
	return nil
}

// end requests the VMM's exit, and kills it after a timeout. The guest was told to
// power off before.
func (p *Process) end(ctx context.Context, quit func(context.Context)) error {
	p.expectExit()
	if p.wait(ctx, 0) {
		return nil
	}
	if quit != nil {
		quitCtx, cancel := context.WithTimeout(ctx, environment.QuitTimeout)
		quit(quitCtx)
		cancel()
		if p.wait(ctx, environment.QuitTimeout) {
			return nil
		}
	}
	if err := p.Kill(); err != nil {
		return err
	}
	if !p.wait(context.WithoutCancel(ctx), environment.ExitTimeout) {
		return fmt.Errorf("%s (process %d) is still running after SIGKILL", p.name, p.PID)
	}
	return nil
}

// Exited is closed after the process exited and its output was read.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// wait reports whether the process exits within a timeout.
func (p *Process) wait(ctx context.Context, limit time.Duration) bool {
	select {
	case <-p.exited:
		return true
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
