package microvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tare/internal/environment"
	"tare/internal/environment/support/console"
	"tare/internal/environment/support/vmm"
	"tare/internal/host/cleanup"
	"tare/internal/linux/fsinfo"
	"tare/internal/linux/virtnet"
)

// Start boots or restores a guest and returns when its agent is ready.
func (e *Environment) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	if err := e.checkIO(r.Limits.IO); err != nil {
		return nil, err
	}
	if len(r.Disks) > 0 {
		return nil, fmt.Errorf("guests of %s have no disks with serial numbers, so no environment can run inside them", e.vmm.Name)
	}
	if _, _, _, err := e.Of(ctx, r.Image); err != nil {
		return nil, err
	}
	begin := time.Now()
	g := vmm.New(e.vmm.Name, r)
	var from *snapshot
	if e.options.Start == Snapshot {
		cpus, memory := vmm.Size(e.options.CPUs, e.options.Memory, r.Limits)
		if from, err = e.snapshotFor(ctx, r, snapshotKey{r.Image.Digest, cpus, memory, r.Limits.PIDs, r.Limits.IO}); err != nil {
			return nil, err
		}
		g.RestartClock()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}()
	waited := time.Since(begin)
	m, copied, err := e.prepareGuest(ctx, g, r, from, from != nil)
	if err != nil {
		return nil, err
	}
	g.NoteMemoryOption(e.options.Memory)
	if !r.Limits.IO.None() {
		g.Note("%s", sharedRateNote)
	}
	d, c, err := e.launch(g, m, from != nil, from != nil)
	if err != nil {
		return nil, err
	}
	if err := g.Boot(ctx, c, d, e.options.StartTimeout); err != nil {
		return nil, err
	}
	e.setPhases(g, waited, copied, time.Since(begin), from != nil)
	if e.vmm.Finish != nil {
		e.vmm.Finish(g, m.Directory)
	}
	return g, nil
}

// setPhases divides the time of the start. A restored guest has no phases kernel
// and agent, since they ran before the snapshot.
func (e *Environment) setPhases(g *vmm.Guest, waited, copied, total time.Duration, restored bool) {
	prepared := waited + copied
	own := vmm.Phases(total-prepared, g.Agent().Hello())
	if restored {
		own = []environment.Phase{{Name: "engine", Duration: total - prepared}}
	}
	if restored || copied > 0 {
		own = append([]environment.Phase{{Name: environment.PreparePhase, Duration: prepared}}, own...)
	}
	g.Timeline = own
}

// prepareGuest creates the files in the VMM's directory, and its cgroup. copied is
// how long copying a root disk took.
func (e *Environment) prepareGuest(ctx context.Context, g *vmm.Guest, r environment.Request, from *snapshot, await bool) (m *Machine, copied time.Duration, err error) {
	guest, disk, data, err := e.Of(ctx, r.Image)
	if err != nil {
		return nil, 0, err
	}
	m = &Machine{Name: r.Name, Cores: r.Limits.Cores, RootWritable: e.options.Root == "copy", Disk: e.options.diskLimiter(r.Limits.IO)}
	m.CPUs, m.Memory = vmm.Size(e.options.CPUs, e.options.Memory, r.Limits)
	if m.GuestDirectory, err = g.Directory(); err != nil {
		return nil, 0, err
	}
	m.Directory = m.GuestDirectory
	if e.vmm.RunDirectory != nil {
		m.Directory, m.User = e.vmm.RunDirectory(m.GuestDirectory, m.Name)
	}
	if err := os.MkdirAll(m.Directory, 0o755); err != nil {
		return nil, 0, err
	}
	paths := environment.Paths{Network: "none", RootOn: fsinfo.Of(disk), DataOn: fsinfo.Of(m.Directory),
		Root: "overlay on ext4 on virtio-blk, raw file, " + e.vmm.DiskMode, Data: "ext4 on virtio-blk, raw file, " + e.vmm.DiskMode}
	var own func(*cleanup.Owner) (*virtnet.Bridge, error)
	if e.options.Network != "none" {
		own = e.bridge
	}
	if m.Port, paths.Network, err = g.Connect(own); err == nil && m.Port != nil {
		err = m.Port.Lend(m.User)
	}
	if err != nil {
		return nil, 0, err
	}
	if m.CommandLine, err = e.kernelCommandLine(m, r, await); err != nil {
		return nil, 0, err
	}
	links := map[string]string{Kernel: guest.Vmlinux, Initramfs: guest.Initramfs, Root: disk}
	if m.RootWritable {
		delete(links, Root)
		begin := time.Now()
		if err := vmm.RunTool(ctx, "cp", "--reflink=auto", "--sparse=always", disk, filepath.Join(m.Directory, Root)); err != nil {
			return nil, 0, err
		}
		copied = time.Since(begin)
		paths.Root, paths.RootOn = paths.Data, paths.DataOn
	}
	g.Route = paths
	g.More.Facts = map[string]string{"log.channel": "vsock", "log.driver": "none", "provider[machine]": e.vmm.Name,
		"disk.device": "virtio-blk", "disk.format": "raw", "disk.cache": e.vmm.DiskMode}
	for name, target := range links {
		if err := m.place(ctx, target, name); err != nil {
			return nil, 0, fmt.Errorf("the files of guest %s: %w", r.Name, err)
		}
	}
	if from != nil {
		err = from.install(m.Directory)
	} else {
		err = data.Write(filepath.Join(m.Directory, Data))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("writing the disks of guest %s: %w", r.Name, err)
	}
	if err := m.chown(Root, Data); err != nil {
		return nil, 0, err
	}
	return m, copied, g.CreateCgroup()
}

// place makes a file available in the VMM's directory: a symbolic link, or, in a
// jail, a hard link or a copy.
func (m *Machine) place(ctx context.Context, file, name string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	at := filepath.Join(m.Directory, name)
	if m.User == 0 {
		return os.Symlink(file, at)
	}
	if err := os.Link(file, at); err == nil {
		return nil
	}
	return vmm.RunTool(ctx, "cp", "--reflink=auto", "--sparse=always", file, at) // it is on another file system
}

// chown gives files that a jailed VMM writes to its user. The shared root disk is
// read-only.
func (m *Machine) chown(names ...string) error {
	if m.User == 0 {
		return nil
	}
	for _, name := range names {
		if name == Root && !m.RootWritable {
			continue
		}
		if err := os.Chown(filepath.Join(m.Directory, name), m.User, m.User); err != nil {
			return fmt.Errorf("changing the owner of a file to the jail's user: %w", err)
		}
	}
	return nil
}

// launch returns the driver, and the command, which runs in the guest's directory
// and in the network namespace of its tap.
func (e *Environment) launch(g *vmm.Guest, m *Machine, load, listens bool) (*driver, vmm.Command, error) {
	d, err := newDriver(e.vmm, m, load, listens, g.Note)
	if err != nil {
		return nil, vmm.Command{}, err
	}
	g.Log = func() []string { return console.OfFile(filepath.Join(m.Directory, Log)) }
	c := e.vmm.Command(m)
	c.Dir = m.Directory
	if m.Port != nil {
		if c.Namespace, err = os.Open(m.Port.Space()); err != nil {
			d.Close()
			return nil, c, fmt.Errorf("opening the network namespace of the tap: %w", err)
		}
		g.OnStop(func(context.Context) error { return c.Namespace.Close() })
	}
	return d, c, nil
}

// kernelCommandLine returns the guest's kernel command line.
func (e *Environment) kernelCommandLine(m *Machine, r environment.Request, await bool) (string, error) {
	words := []string{"console=ttyS0", "quiet", "panic=-1", "tare.root=/dev/vda", "tare.data=/dev/vdb", fmt.Sprintf("tare.vsock=%d", agentPort)}
	if !m.RootWritable {
		words = append(words, "tare.over=1")
	}
	if await {
		words = append(words, "tare.await=1")
	}
	k := vmm.KernelLine{Port: m.Port, PIDs: r.Limits.PIDs, Env: r.Image.Env, Extra: e.options.KernelArgs}
	line := k.After(append(words, e.vmm.KernelArgs()...)...)
	return line, k.Check(line, e.vmm.Name, e.vmm.AddedArgs)
}
