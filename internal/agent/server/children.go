package server

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
	"tare/internal/quantity"
)

// children starts processes and is the only one that waits for them. The agent
// is often process 1 and inherits every orphan, so one goroutine waits for
// all: it hands its own children their ends and buries the others.
type children struct {
	mu      sync.Mutex // held from fork to registration, so no end comes too early
	alive   map[int]*child
	closing bool // nothing new may start
	wake    chan struct{}
}

// child is a process that was started here.
type child struct {
	pid   int
	ended chan struct{} // closed when exit is set
	exit  wire.Exit
}

func newChildren() *children {
	// Without this, what a command leaves behind would go to the instance's
	// init, where it could not be found again.
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	c := &children{alive: map[int]*child{}, wake: make(chan struct{}, 1)}
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	go c.reap(died)
	return c
}

// start forks and executes. The clock is read right before the fork.
func (c *children) start(path string, argv []string, attr *syscall.ProcAttr, cpus []int) (*child, error) {
	// The affinity is set on this thread and inherited by the child.
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
		return nil, errors.New("the agent is ending")
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

// pin binds the calling thread to the cores.
func pin(cpus []int) (restore func(), err error) {
	var before, want, got unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("asking for the cores in use: %w", err)
	}
	for _, n := range cpus {
		want.Set(n)
	}
	err = unix.SchedSetaffinity(0, &want)
	if err == nil {
		err = unix.SchedGetaffinity(0, &got)
	}
	if err != nil {
		return nil, fmt.Errorf("binding it to cores %v (this instance may use %s): %w", cpus, cores(&before), err)
	}
	if got != want { // the kernel silently leaves out what a cpuset forbids
		unix.SchedSetaffinity(0, &before)
		return nil, fmt.Errorf("binding it to cores %v: the kernel allows only %s of them", cpus, cores(&got))
	}
	return func() { unix.SchedSetaffinity(0, &before) }, nil
}

func cores(set *unix.CPUSet) string {
	var list []string
	for n := range len(set) * 64 {
		if set.IsSet(n) {
			list = append(list, strconv.Itoa(n))
		}
	}
	return strings.Join(list, ",")
}

// reap waits for whatever ends next, for as long as the agent lives.
func (c *children) reap(died <-chan os.Signal) {
	for {
		// WNOWAIT tells who ended and leaves the status for the wait below, so
		// the clock is read before anything else is done.
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		ended := Monotonic()
		if err == unix.EINTR {
			continue
		}
		if err != nil { // there is no child at all
			select {
			case <-c.wake:
			case <-died:
			}
			continue
		}
		c.bury(pidOf(&info), ended)
	}
}

func (c *children) bury(pid int, ended time.Duration) {
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

// signal sends to the child's process group, which the child leads.
func (c *children) signal(ch *child, s syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alive[ch.pid] != ch {
		return fmt.Errorf("process %d has ended: %w", ch.pid, unix.ESRCH)
	}
	return unix.Kill(-ch.pid, s)
}

// killAll ends everything that was started and everything that came of it, and
// returns when it is gone. Only a process in an uninterruptible wait is given
// up, after a while.
func (c *children) killAll() error {
	const patience, pause = 10 * time.Second, time.Millisecond
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		left := c.killOnce()
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes did not die of SIGKILL within %s", left, patience)
		}
	}
}

func (c *children) killOnce() (left int) {
	if os.Getpid() == 1 {
		// Also what was not started here: a container's other processes. The
		// answer says nothing: a guest's kernel threads take the signal, and live.
		unix.Kill(-1, unix.SIGKILL)
	}
	c.mu.Lock()
	for pid := range c.alive {
		unix.Kill(-pid, unix.SIGKILL)
	}
	left = len(c.alive)
	c.mu.Unlock()
	family := descendants(os.Getpid())
	for _, pid := range family {
		unix.Kill(pid, unix.SIGKILL)
	}
	return max(left, len(family))
}

// descendants lists the children of a process, their children, and so on.
// Orphans among them have become the agent's own children.
func descendants(of int) (family []int) {
	entries, _ := os.ReadDir("/proc")
	parents := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent ...; the name may hold anything.
		rest := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(rest) > 1 {
			parents[pid], _ = strconv.Atoi(rest[1])
		}
	}
	for pid := range parents {
		up := parents[pid]
		for steps := 0; up > 1 && up != of && steps < 1000; steps++ {
			up = parents[up]
		}
		if up == of {
			family = append(family, pid)
		}
	}
	return family
}
