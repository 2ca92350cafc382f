package qemu

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/environment/support/qmp"
	"tare/internal/environment/support/vmm"
)

// driver controls QEMU through its monitor, over sockets that QEMU inherits.
type driver struct {
	monitorEnd, agentEnd net.Conn

	io      environment.IO
	process *vmm.Process
	monitor *qmp.Monitor // nil until the capabilities are negotiated
	paused  atomic.Bool  // a pause was requested
}

// newDriver creates a socket pair each for the monitor and the agent. QEMU's ends
// are its descriptors monitorFD and agentFD.
func newDriver() (_ *driver, files []*os.File, err error) {
	d := &driver{}
	for _, ours := range []*net.Conn{&d.monitorEnd, &d.agentEnd} {
		conn, file, err := socketPair()
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			d.Close()
			return nil, nil, fmt.Errorf("creating a socket pair for QEMU: %w", err)
		}
		*ours, files = conn, append(files, file)
	}
	return d, files, nil
}

// socketPair returns a connection and its other end as a file to inherit.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, peer := os.NewFile(uintptr(fds[0]), "tare"), os.NewFile(uintptr(fds[1]), "qemu")
	conn, err := net.FileConn(ours)
	ours.Close() // FileConn has its own copy
	if err != nil {
		peer.Close()
		return nil, nil, err
	}
	return conn, peer, nil
}

// Open negotiates with the monitor. The guest is paused.
func (d *driver) Open(ctx context.Context, p *vmm.Process) (err error) {
	d.process = p
	d.monitor, err = qmp.Open(ctx, d.monitorEnd, d.handleEvent)
	return err
}

// Go pins the virtual CPUs, throttles the disks and resumes the guest.
func (d *driver) Go(ctx context.Context, pin func([]int) error) error {
	if err := d.throttle(ctx); err != nil {
		return err
	}
	var cpus []struct {
		Index  int `json:"cpu-index"`
		Thread int `json:"thread-id"`
	}
	if err := d.monitor.Execute(ctx, "query-cpus-fast", nil, &cpus); err != nil {
		return err
	}
	threads := make([]int, len(cpus))
	for _, c := range cpus {
		if c.Index < 0 || c.Index >= len(threads) {
			return fmt.Errorf("QEMU reports virtual CPU %d of %d", c.Index, len(cpus))
		}
		threads[c.Index] = c.Thread
	}
	if err := pin(threads); err != nil {
		return err
	}
	return d.monitor.Execute(ctx, "cont", nil, nil)
}

// Agent returns the host's end of the guest's virtio-serial port.
func (d *driver) Agent(context.Context) (io.ReadWriteCloser, error) { return d.agentEnd, nil }

// Pause stops the guest. QEMU waits for its disk requests, and flushes the disks.
func (d *driver) Pause(ctx context.Context) error {
	d.paused.Store(true)
	return d.monitor.Execute(ctx, "stop", nil, nil)
}

// Resume continues the guest.
func (d *driver) Resume(ctx context.Context) error {
	err := d.monitor.Execute(ctx, "cont", nil, nil)
	if err == nil {
		d.paused.Store(false) // events arrive before the response
	}
	return err
}

// Quit makes QEMU exit.
func (d *driver) Quit(ctx context.Context) {
	_ = d.monitor.Execute(ctx, "quit", nil, nil) // it may exit before it answers
}

// Close closes both connections.
func (d *driver) Close() {
	for _, c := range []net.Conn{d.monitorEnd, d.agentEnd} {
		if c != nil {
			c.Close()
		}
	}
}

// handleEvent records why the guest stopped. A guest that stops unexpectedly (on
// an internal error of a virtual CPU) does not recover, so QEMU is killed then.
func (d *driver) handleEvent(e qmp.Event) {
	var data struct {
		Reason string `json:"reason"`
		Guest  bool   `json:"guest"`
	}
	_ = json.Unmarshal(e.Data, &data) // fields may be missing
	switch e.Name {
	case "SHUTDOWN":
		if data.Guest {
			d.process.SetStopReason(data.Reason)
		}
	case "STOP":
		if !d.process.ExitExpected() && !d.paused.Load() {
			crash.Go(d.killStopped)
		}
	}
}

// killStopped queries why the guest stopped, and kills QEMU.
func (d *driver) killStopped() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var status struct{ Status string }
	if err := d.monitor.Execute(ctx, "query-status", nil, &status); err != nil || status.Status == "" {
		status.Status = "stopped"
	}
	d.process.SetStopReason(status.Status)
	_ = d.process.Kill() // the caller that waits for the exit reports a failure
}
