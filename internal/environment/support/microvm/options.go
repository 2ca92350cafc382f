package microvm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/environment/support/vmm"
	"tare/internal/quantity"
)

// The values of start.
const (
	Boot     = "boot"     // the guest's kernel boots
	Snapshot = "snapshot" // a guest that was saved goes on
)

// Options are those that every kind of this package has, as a study writes
// them.
type Options struct {
	// Program is the VMM: a name on the PATH, or a path.
	Program string `yaml:"program" json:"program"`
	// Start is boot, or snapshot: a guest is booted and saved once, and each
	// instance is that guest, restored.
	Start string `yaml:"start" json:"start"`
	// Memory of the guest; 0 is the study's limit, or 512 MiB without one.
	Memory quantity.Bytes `yaml:"memory" json:"memory,omitempty"`
	// CPUs is the number of virtual CPUs; 0 is one for each of the limits'
	// cores, or the limits' cpus rounded up, or 1.
	CPUs int `yaml:"cpus" json:"cpus,omitempty"`
	// Root is overlay (the image's disk is read-only and shared, and what is
	// written lies on the data disk) or copy (each guest has a copy of the disk).
	Root string `yaml:"root" json:"root"`
	// Network is none (the guest has its loopback only), tap (a bridge, which
	// the host reaches) or nat (a bridge with address translation).
	Network string `yaml:"network" json:"network"`
	// Data is the size of the fresh file system at /data, which holds with root:
	// overlay what is written elsewhere too; it takes room on the host only as it
	// is filled.
	Data quantity.Bytes `yaml:"data" json:"data"`
	// DiskBandwidth is how many bytes a second each disk reads and writes
	// together, DiskOps how many requests; 0 is any number.
	DiskBandwidth quantity.Bytes `yaml:"disk_bandwidth" json:"disk_bandwidth,omitempty"`
	DiskOps       int            `yaml:"disk_ops" json:"disk_ops,omitempty"`
	// NetBandwidth is how many bytes a second the network card sends, and
	// receives; NetOps how many packets; 0 is any number.
	NetBandwidth quantity.Bytes `yaml:"net_bandwidth" json:"net_bandwidth,omitempty"`
	NetOps       int            `yaml:"net_ops" json:"net_ops,omitempty"`
	// KernelArgs go to the end of the guest kernel's command line.
	KernelArgs string `yaml:"kernel_args" json:"kernel_args,omitempty"`
	// StartTimeout is how long a guest may take until its agent's first word.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout"`
}

// Defaults are the options where a study says nothing.
func Defaults(program string) Options {
	return Options{Program: program, Start: Boot, Root: "overlay", Network: "none",
		Data: 2 * quantity.GiB, StartTimeout: time.Minute}
}

// Validate says everything that is wrong with the options.
func (o *Options) Validate() error {
	var wrong []error
	say := func(format string, values ...any) { wrong = append(wrong, fmt.Errorf(format, values...)) }
	OneOf(say, "start", o.Start, Boot, Snapshot)
	OneOf(say, "root", o.Root, "overlay", "copy")
	OneOf(say, "network", o.Network, "none", "tap", "nat")
	if o.Program == "" || strings.ContainsAny(o.Program, "\n") {
		say("program: %q is no program", o.Program)
	}
	if o.Memory != 0 && (o.Memory < vmm.MinMemory || o.Memory%quantity.MiB != 0) {
		say("memory: %s: it takes whole MiB, and at least %s", o.Memory, vmm.MinMemory)
	}
	if o.Data < vmm.MinData {
		say("data: %s is too little for a file system: at least %s", o.Data, vmm.MinData)
	}
	if o.CPUs < 0 || o.CPUs > 255 {
		say("cpus: %d is not between 1 and 255", o.CPUs)
	}
	for _, limit := range []struct {
		key   string
		value int64
	}{{"disk_bandwidth", int64(o.DiskBandwidth)}, {"disk_ops", int64(o.DiskOps)}, {"net_bandwidth", int64(o.NetBandwidth)}, {"net_ops", int64(o.NetOps)}} {
		if limit.value < 0 {
			say("%s: %d is less than nothing", limit.key, limit.value)
		}
	}
	if o.StartTimeout <= 0 {
		say("start_timeout: %v is no time to start in", o.StartTimeout)
	}
	if o.Start == Snapshot && o.Network != "none" {
		say("start: snapshot: a restored guest has the network card and address of the one that was saved: write network: none instead of %s", o.Network)
	}
	if o.Start == Snapshot && o.Root != "overlay" {
		say("start: snapshot: the saved guest's disk would be copied as well: write root: overlay instead of %s", o.Root)
	}
	return errors.Join(wrong...)
}

// OneOf says if a value is none of those allowed.
func OneOf(say func(string, ...any), key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		say("%s: %q is none of %s", key, value, strings.Join(allowed, ", "))
	}
}
