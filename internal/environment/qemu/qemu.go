// Package qemu runs an image in a virtual machine: QEMU as the VMM, a kernel
// of the distribution, and the agent as the guest's init. Where KVM does not
// really work the guest's code is emulated, and then the environment is
// labelled tcg wherever a figure of it stands.
//
// It must not know workloads, studies or statistics.
package qemu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"tare/internal/agent"
	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/image"
	"tare/internal/linux/kvm"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "qemu",
		About:    "a virtual machine under QEMU: KVM where it really works, else software emulation (tcg)",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(o.(*Options)) },
		Hosts:    true,
		New: func(o any) (environment.Environment, error) {
			options := *o.(*Options)
			if err := options.Validate(); err != nil {
				return nil, err
			}
			return &vm{options: options, roots: map[string]*vmm.Template{}}, nil
		},
		// Sweep is nil: processes, cgroups and folders are what the owner finds by
		// itself, and networks between guests vanish with the process.
	})
}

// vm is the environment. What it makes in Prepare is shared by all instances.
type vm struct {
	options Options

	mutex sync.Mutex
	guest *image.Guest
	roots map[string]*vmm.Template // an empty overlay on each image's disk, by digest
	data  *vmm.Template            // an empty file system
}

// accel is what the guest's code will be run by.
func (e *vm) accel() string {
	if e.options.Accel != "auto" {
		return e.options.Accel
	}
	if kvm.Probe(context.Background(), vmm.ProbeTimeout).Usable {
		return "kvm"
	}
	return "tcg"
}

// Label is "tcg" where the guest is emulated.
func (e *vm) Label() string {
	if e.accel() == "tcg" {
		return "tcg"
	}
	return ""
}

// Versions of QEMU and the guest's kernel, and the acceleration.
func (e *vm) Versions(ctx context.Context) map[string]string {
	versions := map[string]string{"accel": e.accel()}
	if v, err := version(ctx); err == nil {
		versions["qemu"] = v.text
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.guest != nil {
		versions["guest kernel"] = e.guest.Version
	}
	return versions
}

// Prepare makes the disk of the image, the guest that boots it, and the files
// that every instance gets a fresh copy of.
func (e *vm) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.roots[img.Digest] != nil {
		return nil
	}
	work, err := os.MkdirTemp("", "tare-qemu-")
	if err != nil {
		return fmt.Errorf("making a folder to prepare a guest in: %w", err)
	}
	defer os.RemoveAll(work)

	if e.guest == nil {
		agentProgram, err := agent.WriteBinary(work)
		if err != nil {
			return err
		}
		guest, err := img.Guest(ctx, agentProgram, progress)
		if err != nil {
			return err
		}
		if e.options.Machine == "microvm" && guest.Vmlinux == "" {
			return fmt.Errorf("machine: microvm: kernel %s has no PVH entry, which a microvm starts by; use machine: q35", guest.Version)
		}
		e.guest = guest
	}
	if e.data == nil {
		if e.data, err = e.options.emptyData(ctx, filepath.Join(work, "data")); err != nil {
			return err
		}
	}
	progress("disk of image " + img.Name)
	disk, err := img.Disk(ctx)
	if err != nil {
		return err
	}
	root, err := emptyOverlay(ctx, filepath.Join(work, "root"), disk)
	if err != nil {
		return err
	}
	vmm.TSCKHz() // measured now, so that no start pays for it
	e.roots[img.Digest] = root
	return nil
}

// NewNetwork makes a bridge, at which each guest has a tap.
func (e *vm) NewNetwork(_ context.Context, o *cleanup.Owner, _ string) (environment.Network, error) {
	return e.options.bridge(o)
}

// parts returns what Prepare made.
func (e *vm) parts(ctx context.Context, img *image.Image) (guest *image.Guest, root, data *vmm.Template, err error) {
	if err := e.Prepare(ctx, img, nil); err != nil {
		return nil, nil, nil, err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.guest, e.roots[img.Digest], e.data, nil
}

// emptyOverlay makes a disk that is the base as long as nothing is written.
func emptyOverlay(ctx context.Context, file, base string) (*vmm.Template, error) {
	base, err := filepath.Abs(base)
	if err != nil {
		return nil, err
	}
	if err := vmm.RunTool(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", base, file); err != nil {
		return nil, err
	}
	return vmm.ReadTemplate(file)
}

// disks makes what a request asks for: a file itself, or an overlay on it, which
// goes with the instance.
func disks(ctx context.Context, wanted []environment.Disk, folder string) (made []disk, err error) {
	for n, w := range wanted {
		d := disk{w.Serial, "raw", w.File}
		if !w.Keep {
			d.format, d.file = "qcow2", filepath.Join(folder, fmt.Sprintf("disk%d.qcow2", n))
			if _, err := emptyOverlay(ctx, d.file, w.File); err != nil {
				return nil, fmt.Errorf("disk %s: %w", w.Serial, err)
			}
		}
		made = append(made, d)
	}
	return made, nil
}

// machine decides everything about one guest.
func (e *vm) machine(r environment.Request, guest *image.Guest, folder string) machine {
	m := machine{
		name: r.Name, accel: e.accel(), guest: guest, tscKHz: vmm.TSCKHz(), env: r.Image.Env,
		pids: r.Limits.PIDs,
	}
	drives := e.options.drives()
	m.root, m.data = drives[0].at(folder), drives[1].at(folder)
	m.cpus, m.memory = vmm.Size(e.options.CPUs, e.options.Memory, r.Limits)
	return m
}
