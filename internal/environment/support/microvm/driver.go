package microvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"tare/internal/environment/support/vmm"
)

// driver leads a program through the start of one guest.
type driver struct {
	vmm     VMM
	machine *Machine
	load    bool // a saved guest in place of a booted one

	place   *place
	api     *API
	agent   net.Listener // where a guest that boots calls; nil for one that listens itself
	process *vmm.Process
	note    func(string, ...any)
}

// newDriver opens the guest's folder.
func newDriver(v VMM, m *Machine, load, listens bool, note func(string, ...any)) (*driver, error) {
	p, err := openPlace(m.Directory)
	if err != nil {
		return nil, err
	}
	d := &driver{vmm: v, machine: m, load: load, place: p, api: newAPI(p), note: note}
	if !listens {
		d.agent, err = hear(p)
		if err == nil {
			err = m.own(fmt.Sprintf("%s_%d", VSock, agentPort))
		}
		if err != nil {
			d.Close()
			return nil, err
		}
	}
	return d, nil
}

// Open makes the guest, which stands still.
func (d *driver) Open(ctx context.Context, p *vmm.Process) error {
	d.process = p
	go d.vmm.Watch(d.machine, p)
	if err := d.api.await(ctx, p, d.vmm.PingPath()); err != nil {
		return err
	}
	if d.load {
		return d.vmm.Load(ctx, d.api, d.machine)
	}
	return d.vmm.Define(ctx, d.api, d.machine)
}

// Go lets the guest run. The threads of virtual CPUs exist before that only in
// a guest that was loaded.
func (d *driver) Go(ctx context.Context, pin func([]int) error) error {
	if d.load {
		if err := d.pin(ctx, pin); err != nil {
			return err
		}
		return d.vmm.Resume(ctx, d.api)
	}
	if err := d.vmm.Boot(ctx, d.api); err != nil {
		return err
	}
	return d.pin(ctx, pin)
}

func (d *driver) pin(ctx context.Context, pin func([]int) error) error {
	if len(d.machine.Cores) == 0 {
		return nil
	}
	threads, err := vmm.Threads(ctx, d.process.PID, d.vmm.VCPUThread(), d.machine.CPUs)
	if err != nil {
		// The cpuset holds them all the same; only which is on which is open.
		d.note("the virtual CPUs are not pinned one by one, they share the cores %v: %v", d.machine.Cores, err)
		return nil
	}
	return pin(threads)
}

// Agent waits for a guest that booted to call, and calls one that was loaded.
func (d *driver) Agent(ctx context.Context) (io.ReadWriteCloser, error) {
	if d.agent != nil {
		return accept(ctx, d.agent, d.process)
	}
	conn, err := callUntil(ctx, d.place, d.process)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "%d\n", time.Now().UnixNano()); err != nil {
		return nil, errors.Join(fmt.Errorf("speaking to the guest's agent: %w", err), conn.Close())
	}
	return conn, nil
}

// Quit asks the program to end.
func (d *driver) Quit(ctx context.Context) { d.vmm.Quit(ctx, d.api, d.process) }

// Close closes what was opened.
func (d *driver) Close() {
	d.api.close()
	if d.agent != nil {
		d.agent.Close()
	}
	d.place.folder.Close()
	if d.machine.Events != nil {
		d.machine.Events.Close()
	}
}

// logLines are the last of the program's own log.
func logLines(folder string) func() []string {
	return func() []string { return vmm.LastLines(filepath.Join(folder, Log)) }
}
