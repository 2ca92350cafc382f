package qemu

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/fsinfo"
)

// drive is the configuration of one of the guest's two disks.
type drive struct {
	id    string // root or data
	form  string // qcow2, raw or deviceForm
	path  string // of the block device
	cache string
	aio   string
	as    string // the guest's device: virtio-blk or nvme
}

// deviceForm is the form of a disk that is a block device of the host.
const deviceForm = "/dev/..."

func form(option string) string {
	if blockdevice.Named(option) {
		return deviceForm
	}
	return option
}

// drives returns the root and the data disk, in the guest's order.
func (o *Options) drives() [2]drive {
	one := func(id, option, cache, aio string) drive {
		d := drive{id: id, form: form(option), cache: o.Cache, aio: o.AIO, as: o.DiskDevice}
		if d.form == deviceForm {
			d.path = option
		}
		if cache != "" {
			d.cache = cache
		}
		if aio != "" {
			d.aio = aio
		}
		return d
	}
	return [2]drive{one("root", o.RootDisk, o.RootCache, o.RootAIO), one("data", o.DataDisk, o.DataCache, o.DataAIO)}
}

// validateDrives returns the errors of combinations of disk options.
func (o *Options) validateDrives() (wrong []error) {
	for _, d := range o.drives() {
		if d.form == deviceForm {
			if err := blockdevice.Valid(d.path); err != nil {
				wrong = append(wrong, strictyaml.AtKey(d.id+"_disk", "%w", err))
			}
		}
		if d.aio == "native" && d.cache != "none" && d.cache != "directsync" {
			key := "aio"
			if o.AIO != "native" {
				key = d.id + "_aio"
			}
			wrong = append(wrong, strictyaml.AtKey(key, "native needs O_DIRECT: set cache: none or directsync instead of %s for the %s disk", d.cache, d.id))
		}
	}
	if o.RootDisk == o.DataDisk && form(o.RootDisk) == deviceForm {
		wrong = append(wrong, strictyaml.AtKey("data_disk", "%s is already the root disk", o.DataDisk))
	}
	return wrong
}

// format returns QEMU's format of the disk.
func (d drive) format() string {
	if d.form == deviceForm {
		return "raw"
	}
	return d.form
}

// at returns the disk's file in the guest's directory, or the block device.
func (d drive) at(dir string) string {
	if d.form == deviceForm {
		return d.path
	}
	return filepath.Join(dir, d.id+"."+d.form)
}

// String describes the disk for reports.
func (d drive) String() string {
	what := d.form + " file"
	if d.form == deviceForm {
		what = "block device"
	}
	return fmt.Sprintf("ext4 on %s, %s, cache %s, %s", d.as, what, d.cache, d.aio)
}

// checkRing checks whether io_uring is available, by creating a ring.
func checkRing(context.Context) environment.Finding {
	var parameters [120]byte // struct io_uring_params
	fd, err := ring(&parameters)
	if err != nil {
		return environment.Lacks(fmt.Sprintf("io_uring_setup: %v", err),
			environment.Advice("sysctl kernel.io_uring_disabled=0; in a container, a seccomp profile that lets io_uring through; or aio: threads in the study"))
	}
	unix.Close(fd)
	return environment.Finding{State: environment.Usable}
}

// emptyData creates the template of the data disk.
func (o *Options) emptyData(ctx context.Context, file string) (*vmm.Template, error) {
	t, err := vmm.EmptyFileSystem(ctx, file, int64(o.Data))
	if err != nil || o.DataDisk != "qcow2" {
		return t, err
	}
	if err := vmm.RunTool(ctx, "qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2", file, file+".qcow2"); err != nil {
		return nil, err
	}
	return vmm.ReadTemplate(file + ".qcow2")
}

// writeDrives creates both disks. copied is the time that goes to the phase
// "prepare": for a full copy of the image's disk, or for writing block devices.
func (o *Options) writeDrives(ctx context.Context, g *vmm.Guest, m machine, root, data *vmm.Template, base string) (copied time.Duration, err error) {
	begun := time.Now()
	drives := o.drives()
	switch drives[0].form {
	case "raw":
		err = blockdevice.Copy(base, m.root)
	case deviceForm:
		err = blockdevice.Write(base, m.root)
	default:
		err = root.Write(m.root)
	}
	if err == nil && drives[1].form == deviceForm {
		err = blockdevice.Format(ctx, m.data)
	} else if err == nil {
		err = data.Write(m.data)
	}
	if err != nil {
		return 0, err
	}
	for _, d := range drives {
		if d.form == deviceForm {
			held, err := blockdevice.Hold(d.path)
			if err != nil {
				return 0, err
			}
			g.OnStop(func(context.Context) error { return held.Close() })
		}
	}
	if drives[0].form == "raw" || slices.ContainsFunc(drives[:], func(d drive) bool { return d.form == deviceForm }) {
		copied = time.Since(begun)
	}
	return copied, nil
}

// withPrepare splits the time of preparing the disks off the phase "engine".
func withPrepare(phases []environment.Phase, prepared time.Duration) []environment.Phase {
	for n, p := range phases {
		if p.Name == "engine" {
			phases[n].Duration = max(0, p.Duration-prepared)
		}
	}
	return environment.WithPreparation(phases, prepared)
}

// paths describes the guest's network and disks.
func (o *Options) paths(dir, base string, joined bool) environment.Paths {
	drives := o.drives()
	on := func(d drive) string {
		if d.form == deviceForm {
			return fsinfo.Device(d.path)
		}
		return fsinfo.Of(dir)
	}
	p := environment.Paths{Network: o.packetPath(joined), Root: drives[0].String(), Data: drives[1].String(),
		RootOn: on(drives[0]), DataOn: on(drives[1])}
	if below := fsinfo.Of(base); drives[0].form == "qcow2" && below != p.RootOn {
		p.RootOn += ", the image's disk " + below
	}
	return p
}

// ring creates an io_uring with four entries, as QEMU does.
func ring(parameters *[120]byte) (fd int, err error) {
	r, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(parameters)), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}
