// Package virtualbox runs an image in a virtual machine of VirtualBox, through
// VBoxManage's command line. The VM is a clone of a template or the template itself,
// and its guest is reached over SSH. The VM's process runs on this machine, so its
// resource use is measured from outside.
//
// It must not know workloads, studies or statistics.
package virtualbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"

	"tare/internal/environment"
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/usage"
)

const kind = "virtualbox"

func init() {
	environment.Register(environment.Registration{
		Kind:     kind,
		About:    "a virtual machine under VirtualBox, cloned from a template and reached over SSH",
		Options:  func() any { return defaults() },
		Parts:    environment.Parts{Switches: environment.InOrder("cpus", "memory", "network")},
		Requires: func(o any) []environment.Requirement { return requirements(*o.(*Options)) },
		New:      func(o any) (environment.Environment, error) { return &machines{newBox(*o.(*Options))}, nil },
		Sweep:    sweep,
	})
}

type machines struct{ box *box }

// Label marks values of programs that are not the image's. There is no label for
// software emulation, since VirtualBox has none.
func (m *machines) Label() string { return m.box.options.Label() }

// Versions returns the version of VirtualBox.
func (m *machines) Versions(ctx context.Context) map[string]string {
	versions := map[string]string{}
	if v, _, err := m.box.version(ctx); err == nil {
		versions["virtualbox"] = v
	}
	return versions
}

// Prepare does nothing: the image is copied to each VM when it is started.
func (m *machines) Prepare(context.Context, *image.Image, func(string)) error { return nil }

type instance struct {
	*hypervisor.Guest
	box   *box
	group *vmGroup
}

// Start starts a VM and returns after its agent's first message.
func (m *machines) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	i := &instance{box: m.box}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.clear(context.WithoutCancel(ctx)))
		}
	}()
	if _, err := r.Owner.Directory(r.Name); err != nil {
		return nil, err
	}
	var notes []string
	if i.group, notes, err = reserve(r); err != nil {
		return nil, err
	}
	backend := hypervisor.Backend{Kind: kind, Hypervisor: m.box, At: m.box.at()}
	i.Guest, err = hypervisor.Begin(ctx, backend, m.box.options.Options, r, func(v hypervisor.VM) ([]string, error) {
		about, err := m.box.info(ctx, v.Name)
		if err != nil {
			return notes, err
		}
		more, err := i.group.adopt(r, about["UUID"])
		return append(notes, more...), err
	})
	if err != nil {
		return nil, err
	}
	if m.box.options.Network == nat {
		i.IP = "" // only this machine reaches it, by a forwarded port
	}
	return i, nil
}

// Paths of packets and blocks.
func (i *instance) Paths() environment.Paths {
	o := i.box.options
	network := map[string]string{
		nat:      "virtual network card, VirtualBox's NAT (user-mode stack), a forwarded port of the host for SSH",
		hostonly: "virtual network card, VirtualBox's host-only network " + o.Adapter,
		bridged:  "virtual network card, bridged to the host's " + o.Adapter + " by VirtualBox's filter",
	}[o.Network]
	disk := map[string]string{
		hypervisor.Linked:  "VirtualBox's virtual disk, a differencing image of the template's",
		hypervisor.Clone:   "VirtualBox's virtual disk, a copy of the template's",
		hypervisor.Restore: "VirtualBox's virtual disk, the template's at its snapshot",
		hypervisor.Start:   "VirtualBox's virtual disk, the template's own",
	}[o.Mode]
	return i.PathsOn(disk, network)
}

// Footprint is the cgroup of the VM's process.
func (i *instance) Footprint() usage.Footprint {
	return usage.Footprint{Cgroups: []string{i.group.path}, Role: "vmm"}
}

// Stop stops and removes the VM.
func (i *instance) Stop(ctx context.Context) error {
	return errors.Join(i.Guest.Stop(ctx), i.clear(ctx))
}

func (i *instance) clear(ctx context.Context) error {
	if i.group == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelling)
	defer cancel()
	return i.group.clear(ctx)
}

// sweep removes the VMs that dead owners have notes of, and those with a dead owner's
// ID in their names, with every VBoxManage that the notes name.
func sweep(ctx context.Context, home string, dead func(string) bool) ([]string, error) {
	boxes := map[client]*box{}
	at := func(o Options) *box {
		b := newBox(o)
		if boxes[b.client] == nil {
			boxes[b.client] = b
		}
		return b
	}
	at(*defaults())
	removed, err := hypervisor.Sweep(ctx, kind, home, dead, func(_ context.Context, noted json.RawMessage) (hypervisor.Hypervisor, func(), error) {
		var o Options
		if err := json.Unmarshal(noted, &o); err != nil {
			return nil, nil, err
		}
		return at(o), func() {}, nil
	})
	problems := []error{err}
	for _, b := range boxes {
		lines, err := b.sweep(ctx, home, dead)
		removed, problems = append(removed, lines...), append(problems, err)
	}
	return removed, errors.Join(problems...)
}

// sweep removes the VMs with a dead owner's ID in their names.
func (b *box) sweep(ctx context.Context, home string, dead func(string) bool) (removed []string, err error) {
	if _, err := exec.LookPath(b.Program); err != nil {
		return nil, nil // without VirtualBox there are no VMs
	}
	names, err := b.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing virtual machines that a dead tare process left: %w", err)
	}
	var problems []error
	for _, name := range names {
		id := hypervisor.OwnerOf(name)
		if !cleanup.BelongsTo(home, id) || !dead(id) {
			continue
		}
		v := hypervisor.VM{Name: name, Mode: hypervisor.Clone, Labels: hypervisor.Labels(home, id)}
		switch err := hypervisor.End(ctx, b, v); {
		case err == nil:
			removed = append(removed, hypervisor.Line(kind, name))
		case !errors.Is(err, hypervisor.ErrNone):
			problems = append(problems, err)
		}
	}
	return removed, errors.Join(problems...)
}
