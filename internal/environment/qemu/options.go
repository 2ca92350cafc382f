package qemu

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/quantity"
)

// Options of the kind qemu, as a study writes them.
type Options struct {
	// Accel runs the guest's code: kvm, tcg (software emulation), or auto, which
	// is kvm where a probe found it usable and else tcg.
	Accel string `yaml:"accel" json:"accel"`
	// Machine is q35, a PC with firmware and PCI, or microvm, which has neither.
	Machine string `yaml:"machine" json:"machine"`
	// Memory of the guest; 0 is the study's limit, or 512 MiB without one.
	Memory quantity.Bytes `yaml:"memory" json:"memory,omitempty"`
	// CPUs is the number of virtual CPUs; 0 is one for each of the limits'
	// cores, or the limits' cpus rounded up, or 1.
	CPUs int `yaml:"cpus" json:"cpus,omitempty"`
	// Model of the virtual CPUs; "" is host under kvm and max under tcg.
	Model string `yaml:"model" json:"model,omitempty"`
	// Cache is how the host's page cache stands behind the guest's disks:
	// writeback, none (past it), directsync (past it, each write synced) or
	// unsafe (the guest's syncs are ignored).
	Cache string `yaml:"cache" json:"cache"`
	// AIO is how QEMU does the disks' I/O: threads, io_uring or native.
	AIO string `yaml:"aio" json:"aio"`
	// Network is none (the guest has its loopback only) or user (QEMU's own
	// network stack, address 10.0.2.15).
	Network string `yaml:"network" json:"network"`
	// Data is the size of the fresh file system at /data; it takes room on the
	// host only as it is filled.
	Data quantity.Bytes `yaml:"data" json:"data"`
	// KernelArgs go to the end of the guest kernel's command line.
	KernelArgs string `yaml:"kernel_args" json:"kernel_args,omitempty"`
	// StartTimeout is how long a guest may take until its agent's first word.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout"`
}

func defaults() *Options {
	return &Options{
		Accel: "auto", Machine: "q35", Cache: "writeback", AIO: "threads",
		Network: "none", Data: 2 * quantity.GiB, StartTimeout: time.Minute,
	}
}

// The least sizes that make sense: below them the kernel does not boot, and
// ext4 has no journal.
const (
	leastMemory = 64 * quantity.MiB
	leastData   = 16 * quantity.MiB
)

// Validate says everything that is wrong with the options.
func (o *Options) Validate() error {
	var wrong []error
	one := func(key, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			wrong = append(wrong, fmt.Errorf("%s: %q is none of %s", key, value, strings.Join(allowed, ", ")))
		}
	}
	one("accel", o.Accel, "auto", "kvm", "tcg")
	one("machine", o.Machine, "q35", "microvm")
	one("cache", o.Cache, "writeback", "none", "directsync", "unsafe")
	one("aio", o.AIO, "threads", "io_uring", "native")
	one("network", o.Network, "none", "user")
	if o.AIO == "native" && o.Cache != "none" && o.Cache != "directsync" {
		wrong = append(wrong, fmt.Errorf("aio: native works only past the page cache: write cache: none or directsync instead of %s", o.Cache))
	}
	if o.Memory != 0 && o.Memory < leastMemory {
		wrong = append(wrong, fmt.Errorf("memory: %s is too little for a kernel: at least %s", o.Memory, leastMemory))
	}
	if o.Data < leastData {
		wrong = append(wrong, fmt.Errorf("data: %s is too little for a file system: at least %s", o.Data, leastData))
	}
	if o.CPUs < 0 || o.CPUs > 255 {
		wrong = append(wrong, fmt.Errorf("cpus: %d is not between 1 and 255", o.CPUs))
	}
	if o.StartTimeout <= 0 {
		wrong = append(wrong, fmt.Errorf("start_timeout: %v is no time to start in", o.StartTimeout))
	}
	if strings.ContainsAny(o.Model, " \t\n") {
		wrong = append(wrong, fmt.Errorf("model: %q has a space in it: see qemu-system-x86_64 -cpu help", o.Model))
	}
	return errors.Join(wrong...)
}
