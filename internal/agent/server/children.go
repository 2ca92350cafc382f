package server

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
	"tare/internal/base/quantity"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/procfile"
)

// children starts processes and is the only one to wait for them. The agent is
// often PID 1 or a subreaper, to which every orphan is reparented, so one
// goroutine waits for all: it records the exits of the children that were
// started here and reaps the others.
type children struct {
	mu      sync.Mutex // held from fork to registration, so that no exit is missed
	alive   map[int]*child
	closing bool // no new process may start
	wake    chan struct{}
	stop    chan struct{} // closed by close
	stopped chan struct{} // closed when reap has ended
}

// child is a process that start started.
type child struct {
	pid   int
	ended chan struct{} // closed after exit is set
	exit  wire.Exit
}

func newChildren() *children {
	// As a subreaper the agent is the parent of all orphans of its commands, so
	// that killAll finds them; else they were reparented to the instance's init.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	c := &children{alive: map[int]*child{}, wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	go c.reap(died)
	return c
}

// start forks and executes a command. The clock is read right before the fork.
func (c *children) start(path string, argv []string, attr *syscall.ProcAttr, cpus []int) (*child, error) {
	// The affinity is set on this thread; the child inherits it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if len(cpus) > 0 {
		restore, err := pin(cpus)
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil, errors.New("the agent is shutting down")
	}
	started := Monotonic()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return nil, err
	}
	ch := &child{pid: pid, ended: make(chan struct{}), exit: wire.Exit{Started: started}}
	c.alive[pid] = ch
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return ch, nil
}

// pin sets the CPU affinity of the calling thread.
func pin(cpus []int) (restore func(), err error) {
	var before, want, got unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("reading the CPU affinity: %w", err)
	}
	for _, n := range cpus {
		want.Set(n)
	}
	err = unix.SchedSetaffinity(0, &want)
	if err == nil {
		err = unix.SchedGetaffinity(0, &got)
	}
	if err != nil {
		return nil, fmt.Errorf("pinning it to cores %v (this instance may use %v): %w", cpus, cgroup.CoresOf(&before), err)
	}
	if got != want { // the kernel silently ignores cores outside of the cpuset
		_ = unix.SchedSetaffinity(0, &before)
		return nil, fmt.Errorf("pinning it to cores %v: the kernel allows only %v of them", cpus, cgroup.CoresOf(&got))
	}
	return func() { _ = unix.SchedSetaffinity(0, &before) }, nil
}

// close ends reap, which would take the children of what the process does next. It
// follows killAll; while that left a process, reap waits for it, and close does not.
func (c *children) close(left error) {
	close(c.stop)
	if left == nil {
		<-c.stopped
	}
}

// reap waits for children to exit, until close.
func (c *children) reap(died chan os.Signal) {
	defer close(c.stopped)
	defer signal.Stop(died)
	for {
		// WNOWAIT returns which child exited and keeps its status for the wait in
		// reapOne, so that the clock is read before anything else is done.
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		ended := Monotonic()
		if err == unix.EINTR {
			continue
		}
		if err != nil { // ECHILD: there is no child
			select {
			case <-c.wake:
			case <-died:
			case <-c.stop:
				return
			}
			continue
		}
		c.reapOne(pidOf(&info), ended)
	}
}

func (c *children) reapOne(pid int, ended time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var status unix.WaitStatus
	var used unix.Rusage
	got, err := unix.Wait4(pid, &status, unix.WNOHANG, &used)
	for err == unix.EINTR {
		got, err = unix.Wait4(pid, &status, unix.WNOHANG, &used)
	}
	ch := c.alive[pid]
	if got != pid || ch == nil {
		return
	}
	delete(c.alive, pid)
	ch.exit.Ended = ended
	ch.exit.Code = status.ExitStatus() // -1 when a signal ended it
	if status.Signaled() {
		ch.exit.Signal = signalName(status.Signal())
	}
	ch.exit.User = time.Duration(used.Utime.Nano())
	ch.exit.System = time.Duration(used.Stime.Nano())
	ch.exit.MaxRSS = quantity.Bytes(used.Maxrss) * quantity.KiB
	close(ch.ended)
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s)) // a real-time signal
}

// signal sends a signal to the child's process group, whose leader it is. The error is
// ESRCH if the child ended or was about to end of itself: an exiting process closes its
// files, which others notice, before its parent can wait for it.
func (c *children) signal(ch *child, s syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alive[ch.pid] != ch {
		return fmt.Errorf("process %d has ended: %w", ch.pid, unix.ESRCH)
	}
	if isExiting(ch.pid) {
		_ = unix.Kill(-ch.pid, s) // its own children may remain
		return fmt.Errorf("process %d is exiting: %w", ch.pid, unix.ESRCH)
	}
	return unix.Kill(-ch.pid, s)
}

// isExiting reports whether a process has begun to exit: PF_EXITING among its flags, the
// ninth field of /proc/PID/stat (proc(5); include/linux/sched.h of the kernel).
func isExiting(pid int) bool {
	const exiting = 0x4
	fields := procfile.Stat(pid)
	if len(fields) <= procfile.StatFlags {
		return false
	}
	value, err := strconv.ParseUint(fields[procfile.StatFlags], 10, 64)
	return err == nil && value&exiting != 0
}

// killAll kills all children and their descendants, and returns when they are
// gone. It fails if some remain, in an uninterruptible wait, after a timeout.
func (c *children) killAll() error {
	const timeout, interval = 10 * time.Second, time.Millisecond
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	for deadline := time.Now().Add(timeout); ; time.Sleep(interval) {
		left := c.killOnce()
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes are still alive %s after SIGKILL", left, timeout)
		}
	}
}

func (c *children) killOnce() (left int) {
	if os.Getpid() == 1 {
		// Also a container's other processes, which were not started here. The
		// result means nothing: a guest's kernel threads ignore the signal.
		_ = unix.Kill(-1, unix.SIGKILL)
	}
	c.mu.Lock()
	for pid := range c.alive {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
	left = len(c.alive)
	c.mu.Unlock()
	// Orphans among them were reparented to the agent, their subreaper.
	family := procfile.Descendants(os.Getpid())
	for _, pid := range family {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return max(left, len(family))
}

// Monotonic reads the clock that times everything in the instance.
func Monotonic() time.Duration { return read(unix.CLOCK_MONOTONIC) }

// Uptime returns the time since boot, including suspend.
func Uptime() time.Duration { return read(unix.CLOCK_BOOTTIME) }

func read(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	}
	return time.Duration(t.Nano())
}

// pidOf returns si_pid of what waitid(2) filled in. Package unix leaves that
// part of siginfo_t opaque: the PID and UID follow three ints, aligned to a
// pointer.
func pidOf(info *unix.Siginfo) int {
	const head = 3 * 4
	const word = unsafe.Sizeof(uintptr(0))
	offset := (uintptr(head) + word - 1) / word * word
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), offset)))
}
