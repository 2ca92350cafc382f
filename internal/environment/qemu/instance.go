package qemu

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/host/cleanup"
	"tare/internal/linux/virtnet"
)

// Start boots a guest and returns when its agent is ready.
func (e *vm) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	g := vmm.New("QEMU", r)
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}()
	guest, root, data, err := e.Of(ctx, r.Image)
	if err != nil {
		return nil, err
	}
	base, err := r.Image.Disk(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := g.Directory()
	if err != nil {
		return nil, err
	}
	m := e.machine(r, guest, dir)
	var own func(*cleanup.Owner) (*virtnet.Bridge, error)
	if o := e.options; o.Network == "bridge" || o.Network == "nat" {
		own = o.bridge
	}
	if m.port, _, err = g.Connect(own); err != nil {
		return nil, err
	}
	if err := e.options.check(m); err != nil {
		return nil, err
	}
	copied, err := e.options.writeDrives(ctx, g, m, root, data, base)
	if err != nil {
		return nil, fmt.Errorf("writing the disks of guest %s: %w", r.Name, err)
	}
	if m.disks, err = disks(ctx, r.Disks, dir); err != nil {
		return nil, err
	}
	if err := g.CreateCgroup(); err != nil {
		return nil, err
	}
	g.NoteMemoryOption(e.options.Memory)
	d, files, err := newDriver()
	if err != nil {
		return nil, err
	}
	d.io = r.Limits.IO
	if m.port != nil {
		files = append(files, m.port.File)
	}
	command := vmm.Command{Program: program, Arguments: e.options.arguments(m), Files: files}
	if err := g.Boot(ctx, command, d, e.options.StartTimeout); err != nil {
		return nil, err
	}
	if copied > 0 {
		g.Timeline = withPrepare(g.Timeline, copied)
	}
	g.Route = e.options.paths(dir, base, m.port != nil)
	g.More.Facts = e.facts()
	return g, nil
}

// facts returns the facts of a guest that are only in QEMU's command line.
func (e *vm) facts() map[string]string {
	o := e.options
	model := "max"
	if e.accel() == "kvm" {
		model = "host"
	}
	root, data := o.drives()[0], o.drives()[1]
	both := func(of func(drive) string) string {
		if of(root) == of(data) {
			return of(data)
		}
		return "data " + of(data) + "; root " + of(root)
	}
	return map[string]string{
		"log.channel": "virtio-serial", "log.driver": "none",
		"provider[machine]": o.Machine, "provider[accelerator]": e.accel(), "provider[cpu]": cmp.Or(o.Model, model),
		"disk.device": o.DiskDevice, "disk.cache": both(func(d drive) string { return d.cache }),
		"disk.aio": both(func(d drive) string { return d.aio }), "disk.format": both(func(d drive) string { return d.form }),
	}
}
