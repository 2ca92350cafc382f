package qemu

import (
	"errors"
	"strings"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
)

// Options of the kind qemu, as a study writes them.
type Options struct {
	// Accel is the accelerator: kvm, tcg (software emulation), or auto, which is
	// kvm if a probe found it usable, and otherwise tcg.
	Accel string `yaml:"accel" json:"accel"`
	// Machine is q35, a PC with firmware and PCI, or microvm, which has neither.
	Machine string `yaml:"machine" json:"machine"`
	// Memory of the guest; 0 is the study's limit, or 512 MiB if there is none.
	Memory quantity.Bytes `yaml:"memory" json:"memory,omitempty"`
	// CPUs is the number of virtual CPUs; 0 is one per core of the limits, or the
	// limits' cpus rounded up, or 1.
	CPUs int `yaml:"cpus" json:"cpus,omitempty"`
	// Model of the virtual CPUs; "" is host under kvm and max under tcg.
	Model string `yaml:"model" json:"model,omitempty"`
	// Cache is QEMU's cache mode of the disks: writeback (host page cache), none
	// (O_DIRECT), directsync (O_DIRECT, each write synced) or unsafe (the guest's
	// flushes are ignored).
	Cache string `yaml:"cache" json:"cache"`
	// AIO is how QEMU does the disks' I/O: threads, io_uring or native.
	AIO string `yaml:"aio" json:"aio"`
	// RootDisk is the disk of the root file system: qcow2 (a new overlay on the
	// image's disk), raw (a copy of it), or the path of a block device to which it
	// is copied. DataDisk is the same for /data: raw, qcow2, or a block device.
	RootDisk string `yaml:"root_disk" json:"root_disk"`
	DataDisk string `yaml:"data_disk" json:"data_disk"`
	// DiskDevice is the guest's device of both disks: virtio-blk (paravirtual) or
	// nvme (emulated hardware).
	DiskDevice string `yaml:"disk_device" json:"disk_device"`
	// RootCache, RootAIO, DataCache and DataAIO override Cache and AIO for one
	// disk; "" does not.
	RootCache string `yaml:"root_cache" json:"root_cache,omitempty"`
	RootAIO   string `yaml:"root_aio" json:"root_aio,omitempty"`
	DataCache string `yaml:"data_cache" json:"data_cache,omitempty"`
	DataAIO   string `yaml:"data_aio" json:"data_aio,omitempty"`
	// Network is none (only a loopback), user (QEMU's user-mode network stack,
	// address 10.0.2.15), bridge (a tap at a bridge with the host) or nat (the same
	// behind a router with NAT).
	Network string `yaml:"network" json:"network"`
	// Data is the size of the new file system at /data. Its file is sparse.
	Data quantity.Bytes `yaml:"data" json:"data"`
	// KernelArgs are appended to the guest's kernel command line.
	KernelArgs string `yaml:"kernel_args" json:"kernel_args,omitempty"`
	// StartTimeout bounds the time until the guest's agent is ready.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout"`
}

func defaults() *Options {
	return &Options{
		Accel: "auto", Machine: "q35", Cache: "writeback", AIO: "threads",
		RootDisk: "qcow2", DataDisk: "raw", DiskDevice: virtioDisk,
		Network: "none", Data: 2 * quantity.GiB, StartTimeout: 5 * time.Minute,
	}
}

// Validate returns all errors of the options.
func (o *Options) Validate() error {
	var wrong []error
	one := func(key, value string, allowed ...string) {
		wrong = append(wrong, environment.OneOf(key, value, allowed...))
	}
	one("accel", o.Accel, "auto", "kvm", "tcg")
	one("machine", o.Machine, "q35", "microvm")
	one("cache", o.Cache, "writeback", "none", "directsync", "unsafe")
	one("aio", o.AIO, "threads", "io_uring", "native")
	one("root_disk", form(o.RootDisk), "qcow2", "raw", deviceForm)
	one("data_disk", form(o.DataDisk), "raw", "qcow2", deviceForm)
	one("disk_device", o.DiskDevice, virtioDisk, nvmeDisk)
	if o.DiskDevice == nvmeDisk && o.Machine == "microvm" {
		wrong = append(wrong, strictyaml.AtKey("disk_device", "nvme is a PCI device, and machine: microvm has no PCI: set machine: q35"))
	}
	one("root_cache", o.RootCache, "", "writeback", "none", "directsync", "unsafe")
	one("root_aio", o.RootAIO, "", "threads", "io_uring", "native")
	one("data_cache", o.DataCache, "", "writeback", "none", "directsync", "unsafe")
	one("data_aio", o.DataAIO, "", "threads", "io_uring", "native")
	one("network", o.Network, "none", "user", "bridge", "nat")
	wrong = append(wrong, o.validateDrives()...)
	wrong = append(wrong, vmm.ValidSizes(o.CPUs, o.Memory, o.Data, o.StartTimeout))
	if strings.ContainsAny(o.Model, " \t\n") {
		wrong = append(wrong, strictyaml.AtKey("model", "%q contains a space: see qemu-system-x86_64 -cpu help", o.Model))
	}
	return errors.Join(wrong...)
}
