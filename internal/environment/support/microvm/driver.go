package microvm

import (
	"context"
	"fmt"
	"io"
	"net"

	"tare/internal/base/crash"
	"tare/internal/environment/support/vmm"
)

// driver implements vmm.Driver for one guest.
type driver struct {
	vmm     *VMM
	machine *Machine
	load    bool // restore a snapshot instead of booting

	dir     *socketDir
	api     *API
	agent   net.Listener // for the connection of a guest that boots; nil if the guest listens
	process *vmm.Process
	note    func(string, ...any)
}

// newDriver opens the guest's directory.
func newDriver(v *VMM, m *Machine, load, listens bool, note func(string, ...any)) (*driver, error) {
	p, err := openSocketDir(m.Directory)
	if err != nil {
		return nil, err
	}
	d := &driver{vmm: v, machine: m, load: load, dir: p, api: dialAPI(p), note: note}
	if !listens {
		d.agent, err = listenAgent(p)
		if err == nil {
			err = m.chown(fmt.Sprintf("%s_%d", VSock, agentPort))
		}
		if err != nil {
			d.Close()
			return nil, err
		}
	}
	return d, nil
}

// Open creates the guest, paused.
func (d *driver) Open(ctx context.Context, p *vmm.Process) error {
	d.process = p
	if d.vmm.Watch != nil {
		crash.Go(func() { d.vmm.Watch(d.machine, p) })
	}
	if err := d.api.await(ctx, p, d.vmm.Ping); err != nil {
		return err
	}
	make := d.vmm.Define
	if d.load {
		make = d.vmm.Load
	}
	requests, err := make(d.machine)
	if err != nil {
		return err
	}
	return d.api.Send(ctx, requests...)
}

// Go runs the guest. Before that the threads of virtual CPUs exist only if the
// guest was restored.
func (d *driver) Go(ctx context.Context, pin func([]int) error) error {
	if d.load {
		if err := d.pin(ctx, pin); err != nil {
			return err
		}
		return d.Resume(ctx)
	}
	if err := d.api.Send(ctx, d.vmm.Boot); err != nil {
		return err
	}
	return d.pin(ctx, pin)
}

func (d *driver) pin(ctx context.Context, pin func([]int) error) error {
	if len(d.machine.Cores) == 0 {
		return nil
	}
	threads, err := vmm.Threads(ctx, d.process.PID, d.vmm.VCPUThread, d.machine.CPUs)
	if err != nil {
		// The cpuset still confines them to the cores.
		d.note("the virtual CPUs are not pinned individually, they share the cores %v: %v", d.machine.Cores, err)
		return nil
	}
	return pin(threads)
}

// Agent waits for the connection of a guest that booted, and connects to one that
// was restored.
func (d *driver) Agent(ctx context.Context) (io.ReadWriteCloser, error) {
	if d.agent != nil {
		return accept(ctx, d.agent, d.process)
	}
	return greetAgent(ctx, d.dir, d.process)
}

// Pause stops the guest's virtual CPUs.
func (d *driver) Pause(ctx context.Context) error { return d.api.Send(ctx, d.vmm.Pause) }

// Resume continues the guest.
func (d *driver) Resume(ctx context.Context) error { return d.api.Send(ctx, d.vmm.Resume) }

// Quit requests the VMM's exit.
func (d *driver) Quit(ctx context.Context) {
	if d.vmm.Quit == (Request{}) {
		_ = d.process.Terminate()
		return
	}
	_ = d.api.Send(ctx, d.vmm.Quit) // it may exit before it answers
}

// Close releases the driver's resources.
func (d *driver) Close() {
	d.api.close()
	if d.agent != nil {
		d.agent.Close()
	}
	d.dir.dir.Close()
	if d.machine.Events != nil {
		d.machine.Events.Close()
	}
}
