package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/environment/link"
	"tare/internal/environment/qemu/qmp"
)

// vmm is one running QEMU process: the connections to it, and how it ended.
type vmm struct {
	pid     int
	monitor *qmp.Monitor // nil until the negotiation is over
	console *tail
	stderr  *tail

	monitorEnd, agentEnd net.Conn

	exited chan struct{} // closed when the process is gone and all it printed is here
	status error         // how it ended; read it after exited

	mutex    sync.Mutex
	expected bool   // we want it to end
	stopped  string // why the guest stands still or is off, as QEMU said; "" if it did not
	death    string // how it ended although nobody wanted it to
}

// spawn starts QEMU with a socket pair each for its monitor and the agent, and
// the tap if there is one. QEMU dies with this process, whatever ends it.
func spawn(arguments []string, port *link.Port, console *tail) (v *vmm, err error) {
	v = &vmm{console: console, stderr: &tail{}, exited: make(chan struct{})}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			v.close()
		}
	}()
	for _, ours := range []*net.Conn{&v.monitorEnd, &v.agentEnd} {
		conn, file, err := socketPair()
		if err != nil {
			return nil, fmt.Errorf("making a socket pair for QEMU: %w", err)
		}
		*ours, theirs = conn, append(theirs, file)
	}

	cmd := exec.Command(program, arguments...)
	cmd.Stdout, cmd.Stderr = v.console, v.stderr
	if port != nil {
		theirs = append(theirs, port.File) // which thereby is QEMU's alone
	}
	cmd.ExtraFiles = theirs // the descriptors monitorFD, agentFD and tapFD
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
		err := cmd.Start()
		started <- err
		if err == nil {
			v.buried(cmd.Wait())
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	v.pid = cmd.Process.Pid
	return v, nil
}

// buried notes the end of the process.
func (v *vmm) buried(status error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.status = status
	if !v.expected {
		v.death = v.stopped
		if v.death == "" {
			v.death = "QEMU: " + ending(status)
		}
	}
	close(v.exited)
}

func ending(status error) string {
	if status == nil {
		return "exit status 0"
	}
	return status.Error()
}

// expect tells that from now on an end is wanted.
func (v *vmm) expect() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.expected = true
}

// obituary says how a guest ended that nobody wanted to end; "" if none did.
func (v *vmm) obituary() string {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.death
}

// socketPair is a connection of which the other end is a file to inherit.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "tare"), os.NewFile(uintptr(fds[1]), "qemu")
	conn, err := net.FileConn(ours)
	ours.Close() // FileConn has its own copy
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

// negotiate opens the monitor.
func (v *vmm) negotiate(ctx context.Context) (err error) {
	v.monitor, err = qmp.Open(ctx, v.monitorEnd, v.hear)
	return err
}

// hear notes what became of the guest. A guest that stands still although
// nobody asked (a virtual CPU met an internal error) never says another word,
// so QEMU is ended then: what waits for the agent hears of it at once.
func (v *vmm) hear(e qmp.Event) {
	var data struct {
		Reason string `json:"reason"`
		Guest  bool   `json:"guest"`
	}
	_ = json.Unmarshal(e.Data, &data) // what is missing stays empty
	v.mutex.Lock()
	defer v.mutex.Unlock()
	switch e.Name {
	case "SHUTDOWN":
		if data.Guest && v.stopped == "" {
			v.stopped = data.Reason
		}
	case "STOP":
		if !v.expected && v.stopped == "" {
			v.stopped = "stopped"
			go v.condemn()
		}
	}
}

// condemn asks why the guest stopped, and ends QEMU.
func (v *vmm) condemn() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var status struct{ Status string }
	if err := v.monitor.Execute(ctx, "query-status", nil, &status); err == nil {
		v.mutex.Lock()
		v.stopped = status.Status
		v.mutex.Unlock()
	}
	_ = syscall.Kill(v.pid, syscall.SIGKILL) // not reaped before exited is closed
}

// why says what became of the guest, as far as QEMU said it.
func (v *vmm) why() string {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.stopped
}

// pin puts each virtual CPU's thread on one core.
func (v *vmm) pin(ctx context.Context, cores []int) error {
	if len(cores) == 0 {
		return nil
	}
	var cpus []struct {
		Index  int `json:"cpu-index"`
		Thread int `json:"thread-id"`
	}
	if err := v.monitor.Execute(ctx, "query-cpus-fast", nil, &cpus); err != nil {
		return err
	}
	for _, c := range cpus {
		core := cores[c.Index%len(cores)]
		var set unix.CPUSet
		set.Set(core)
		if err := unix.SchedSetaffinity(c.Thread, &set); err != nil {
			return fmt.Errorf("pinning virtual CPU %d (thread %d of QEMU) to core %d: %w", c.Index, c.Thread, core, err)
		}
	}
	return nil
}

// The time that each way of ending a guest gets before the next one is tried.
const (
	patience = 5 * time.Second // for the guest to power off
	haste    = 2 * time.Second // for QEMU to quit
)

// end makes QEMU quit, and kills it if it does not. The guest was asked before.
func (v *vmm) end(ctx context.Context) error {
	v.expect()
	if v.wait(ctx, 0) {
		return nil
	}
	if v.monitor != nil {
		quit, cancel := context.WithTimeout(ctx, haste)
		_ = v.monitor.Execute(quit, "quit", nil, nil) // it may be gone before it answers
		cancel()
		if v.wait(ctx, haste) {
			return nil
		}
	}
	if err := syscall.Kill(v.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing QEMU (process %d): %w", v.pid, err)
	}
	if !v.wait(context.WithoutCancel(ctx), patience) {
		return fmt.Errorf("QEMU (process %d) did not end after SIGKILL", v.pid)
	}
	return nil
}

// wait says whether the process has ended within the time.
func (v *vmm) wait(ctx context.Context, limit time.Duration) bool {
	select {
	case <-v.exited:
		return true
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-v.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (v *vmm) close() {
	for _, c := range []net.Conn{v.monitorEnd, v.agentEnd} {
		if c != nil {
			c.Close()
		}
	}
}
