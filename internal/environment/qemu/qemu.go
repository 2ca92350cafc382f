// Package qemu runs an image in a virtual machine: QEMU as the VMM, the
// distribution's kernel, and the agent as the guest's init. If KVM does not work,
// the guest is emulated, and the environment is labelled tcg in all reports.
//
// It must not know workloads, studies or statistics.
package qemu

import (
	"context"
	"fmt"
	"path/filepath"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/host/cleanup"
	"tare/internal/image/kernel"
	"tare/internal/linux/kvm"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "qemu",
		About:    "a virtual machine under QEMU, with KVM if it works, otherwise with software emulation (tcg)",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(o.(*Options)) },
		New: func(o any) (environment.Environment, error) {
			return newVM(*o.(*Options)), nil
		},
		Capabilities: func(any) environment.Capabilities { return environment.Capabilities{Hosts: true} },
		Parts:        ladderParts,
		Needs:        func(o any) (environment.Needs, error) { return needed(o.(*Options)), nil },
	})
}

// vm is the environment. The form of an image's disk is an empty overlay on it.
type vm struct {
	options Options
	vmm.Prepared[*vmm.Template]
}

func newVM(o Options) *vm {
	return &vm{o, vmm.Prepared[*vmm.Template]{
		Check: func(guest *kernel.Guest) error {
			if o.Machine == "microvm" && guest.Vmlinux == "" {
				return fmt.Errorf("machine: microvm: kernel %s has no PVH entry point, which microvm boots by: set machine: q35", guest.Version)
			}
			return nil
		},
		Data: o.emptyData,
		Root: func(ctx context.Context, file, disk string) (*vmm.Template, error) {
			vmm.TSCKHz() // measured now, so that no start includes it
			return emptyOverlay(ctx, file, disk)
		},
	}}
}

// accel returns the accelerator: kvm or tcg.
func (e *vm) accel() string {
	if e.options.Accel != "auto" {
		return e.options.Accel
	}
	if kvm.Probe(context.Background(), vmm.ProbeTimeout).Usable {
		return "kvm"
	}
	return "tcg"
}

// Label returns "tcg" if the guest is emulated.
func (e *vm) Label() string {
	if e.accel() == "tcg" {
		return "tcg"
	}
	return ""
}

// Versions returns the versions of QEMU and the guest's kernel, and the accelerator.
func (e *vm) Versions(ctx context.Context) map[string]string {
	versions := map[string]string{"accel": e.accel()}
	if v, err := version(ctx); err == nil {
		versions["qemu"] = v.text
	}
	return e.AddKernel(versions)
}

// NewNetwork creates a bridge with one tap per guest.
func (e *vm) NewNetwork(_ context.Context, o *cleanup.Owner, _ string) (environment.Network, error) {
	return e.options.bridge(o)
}

// Bridged reports whether guests that meet are at a bridge.
func (e *vm) Bridged() bool { return e.options.Network != "nat" }

// emptyOverlay creates an empty qcow2 overlay on a base disk, as a template.
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

// disks returns the disks of a request: the file itself, or an overlay on it that
// is deleted with the instance.
func disks(ctx context.Context, wanted []environment.Disk, dir string) (made []disk, err error) {
	for n, w := range wanted {
		d := disk{w.Serial, "raw", w.File}
		if !w.Keep {
			d.format, d.file = "qcow2", filepath.Join(dir, fmt.Sprintf("disk%d.qcow2", n))
			if _, err := emptyOverlay(ctx, d.file, w.File); err != nil {
				return nil, fmt.Errorf("disk %s: %w", w.Serial, err)
			}
		}
		made = append(made, d)
	}
	return made, nil
}

// machine returns the full configuration of one guest.
func (e *vm) machine(r environment.Request, guest *kernel.Guest, dir string) machine {
	m := machine{
		name: r.Name, accel: e.accel(), guest: guest, tscKHz: vmm.TSCKHz(), env: r.Image.Env,
		pids: r.Limits.PIDs,
	}
	drives := e.options.drives()
	m.root, m.data = drives[0].at(dir), drives[1].at(dir)
	m.cpus, m.memory = vmm.Size(e.options.CPUs, e.options.Memory, r.Limits)
	return m
}
