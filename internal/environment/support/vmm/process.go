package vmm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is what a VMM's process is started from.
type Command struct {
	Program   string
	Arguments []string
	Dir       string     // where it runs; "" is here
	Files     []*os.File // what it inherits, as descriptors 3, 4 ..., and what is its alone
	// Namespace is the network namespace that it runs in; nil is here.
	Namespace *os.File
	// CleanExit is what an exit status of 0 says of the guest: VMMs end well when
	// their guest resets itself. "" says nothing.
	CleanExit string
}

// Process is one running VMM, and how it ended.
type Process struct {
	PID    int
	name   string // in messages: "QEMU"
	stderr *Tail

	exited chan struct{} // closed when the process is gone and all it printed is here
	status error         // how it ended; read it after exited

	mutex    sync.Mutex
	expected bool   // we want it to end
	stopped  string // why the guest stands still or is off, as the VMM said; "" if it did not
	death    string // how it ended although nobody wanted it to
}

// spawn starts a VMM whose standard output is the guest's console. It dies with
// this process, whatever ends it.
func spawn(name string, c Command, console *Tail) (*Process, error) {
	defer func() {
		for _, f := range c.Files {
			f.Close()
		}
	}()
	p := &Process{name: name, stderr: &Tail{}, exited: make(chan struct{})}
	cmd := exec.Command(c.Program, c.Arguments...)
	cmd.Dir, cmd.ExtraFiles = c.Dir, c.Files
	cmd.Stdout, cmd.Stderr = console, p.stderr
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:    true, // Ctrl-C is for tare, which then ends its guests in order
		Pdeathsig: syscall.SIGKILL,
	}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the signal when the thread ends that started the
		// process, so that thread stays for as long as the process does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := startIn(c.Namespace, cmd)
		started <- err
		if err == nil {
			p.buried(cmd.Wait(), c.CleanExit)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Program, err)
	}
	p.PID = cmd.Process.Pid
	return p, nil
}

// startIn starts a program in a network namespace. The thread comes back out
// of it, unless the kernel forbids that.
func startIn(space *os.File, cmd *exec.Cmd) error {
	if space == nil {
		return cmd.Start()
	}
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return fmt.Errorf("network namespace of this thread: %w", err)
	}
	defer home.Close()
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering the network namespace %s: %w", space.Name(), err)
	}
	started := cmd.Start()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.LockOSThread() // once more than it is unlocked: the thread is nobody else's
		return errors.Join(started, fmt.Errorf("going back to the network namespace of before: %w", err))
	}
	return started
}

// buried notes the end of the process.
func (p *Process) buried(status error, cleanEnd string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.status = status
	if status == nil && p.stopped == "" {
		p.stopped = cleanEnd
	}
	if !p.expected {
		p.death = p.stopped
		if p.death == "" {
			p.death = p.name + ": " + ending(status)
		}
	}
	close(p.exited)
}

func ending(status error) string {
	if status == nil {
		return "exit status 0"
	}
	return status.Error()
}

// expect tells that from now on an end is wanted.
func (p *Process) expect() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.expected = true
}

// ExitExpected says whether an end is wanted.
func (p *Process) ExitExpected() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.expected
}

// SetStopReason notes why the guest stands still or is off, as its VMM said. The
// first reason stands.
func (p *Process) SetStopReason(why string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stopped == "" {
		p.stopped = why
	}
}

// why says what became of the guest, as far as the VMM said it.
func (p *Process) why() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.stopped
}

// obituary says how a guest ended that nobody wanted to end; "" if none did.
func (p *Process) obituary() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.death
}

// Kill ends a VMM whose guest will never say another word: what waits for the
// agent hears of it at once.
func (p *Process) Kill() error { return p.signal(syscall.SIGKILL) }

// Terminate asks the process to end.
func (p *Process) Terminate() error { return p.signal(syscall.SIGTERM) }

func (p *Process) signal(s syscall.Signal) error {
	select {
	case <-p.exited: // the number may be another process's by now
		return nil
	default:
	}
	if err := syscall.Kill(p.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %v to %s (process %d): %w", s, p.name, p.PID, err)
	}
	return nil
}

// The time that each way of ending a guest gets before the next one is tried.
const (
	patience = 5 * time.Second // for the guest to power off
	haste    = 2 * time.Second // for the VMM to quit
)

// end asks the VMM to quit, and kills it if it does not. The guest was asked
// before.
func (p *Process) end(ctx context.Context, quit func(context.Context)) error {
	p.expect()
	if p.wait(ctx, 0) {
		return nil
	}
	if quit != nil {
		asked, cancel := context.WithTimeout(ctx, haste)
		quit(asked)
		cancel()
		if p.wait(ctx, haste) {
			return nil
		}
	}
	if err := p.Kill(); err != nil {
		return err
	}
	if !p.wait(context.WithoutCancel(ctx), patience) {
		return fmt.Errorf("%s (process %d) did not end after SIGKILL", p.name, p.PID)
	}
	return nil
}

// Exited is closed when the process is gone and all that it printed is here.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// wait says whether the process has ended within the time.
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
