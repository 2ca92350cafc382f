package microvm

import (
	"errors"
	"slices"
	"strings"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
)

// The values of start.
const (
	Boot     = "boot"     // the guest's kernel boots
	Snapshot = "snapshot" // a snapshot of a guest is restored
)

// Options are the options that all kinds of this package share.
type Options struct {
	// Program is the VMM's executable: a name on the PATH, or a path.
	Program string `yaml:"program" json:"program"`
	// Start is boot, or snapshot: a guest is booted and saved once, and each
	// instance is restored from that snapshot.
	Start string `yaml:"start" json:"start"`
	// Memory of the guest; 0 is the study's limit, or 512 MiB if there is none.
	Memory quantity.Bytes `yaml:"memory" json:"memory,omitempty"`
	// CPUs is the number of virtual CPUs; 0 is one per core of the limits, or the
	// limits' cpus rounded up, or 1.
	CPUs int `yaml:"cpus" json:"cpus,omitempty"`
	// Root is overlay (an overlayfs of the image's disk, shared and read-only, and
	// the data disk) or copy (each guest has a copy of the image's disk).
	Root string `yaml:"root" json:"root"`
	// Network is none (only a loopback), tap (a bridge with the host) or nat (a
	// bridge behind a router with NAT).
	Network string `yaml:"network" json:"network"`
	// Data is the size of the new file system at /data, which with root: overlay
	// holds all writes. Its file is sparse.
	Data quantity.Bytes `yaml:"data" json:"data"`
	// DiskBandwidth limits the bytes per second of each disk, reads and writes
	// together, and DiskOps the requests; 0 is no limit.
	DiskBandwidth quantity.Bytes `yaml:"disk_bandwidth" json:"disk_bandwidth,omitempty"`
	DiskOps       int            `yaml:"disk_ops" json:"disk_ops,omitempty"`
	// NetBandwidth limits the bytes per second of each direction of the network
	// card, and NetOps the packets; 0 is no limit.
	NetBandwidth quantity.Bytes `yaml:"net_bandwidth" json:"net_bandwidth,omitempty"`
	NetOps       int            `yaml:"net_ops" json:"net_ops,omitempty"`
	// KernelArgs are appended to the guest's kernel command line.
	KernelArgs string `yaml:"kernel_args" json:"kernel_args,omitempty"`
	// StartTimeout bounds the time until the guest's agent is ready.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout"`
}

// Defaults returns the default options.
func Defaults(program string) Options {
	return Options{Program: program, Start: Boot, Root: "overlay", Network: "none",
		Data: 2 * quantity.GiB, StartTimeout: time.Minute}
}

// Validate returns all errors of the options.
func (o *Options) Validate() error {
	wrong := []error{
		environment.OneOf("start", o.Start, Boot, Snapshot),
		environment.OneOf("root", o.Root, "overlay", "copy"),
		environment.OneOf("network", o.Network, "none", "tap", "nat"),
		vmm.ValidSizes(o.CPUs, o.Memory, o.Data, o.StartTimeout),
	}
	say := func(key, format string, values ...any) {
		wrong = append(wrong, strictyaml.AtKey(key, format, values...))
	}
	if o.Program == "" || strings.ContainsAny(o.Program, "\n") {
		say("program", "%q is not a program", o.Program)
	}
	if o.Memory%quantity.MiB != 0 {
		say("memory", "%s: it must be whole MiB", o.Memory)
	}
	for _, limit := range []struct {
		key   string
		value int64
	}{{"disk_bandwidth", int64(o.DiskBandwidth)}, {"disk_ops", int64(o.DiskOps)}, {"net_bandwidth", int64(o.NetBandwidth)}, {"net_ops", int64(o.NetOps)}} {
		if limit.value < 0 {
			say(limit.key, "%d is negative", limit.value)
		}
	}
	if o.Start == Snapshot && o.Network != "none" {
		say("start", "snapshot: a restored guest has the network card and address of the snapshot: set network: none instead of %s", o.Network)
	}
	if o.Start == Snapshot && o.Root != "overlay" {
		say("start", "snapshot: the snapshot's root disk would be copied too: set root: overlay instead of %s", o.Root)
	}
	return errors.Join(wrong...)
}

// LadderParts declares what a microVM kind offers to ladders; of gives its options
// among those of the kind.
func LadderParts(of func(options any) *Options) environment.Parts {
	return environment.Parts{
		Switches: environment.InOrder("cpus", "memory", "kernel_args", "cache", "aio", "network"),
		Guest:    vmm.LadderGuest(func(options any) bool { return slices.Contains([]string{"tap", "nat"}, of(options).Network) }),
		// Address translation is switched after the guest.
		Approach: func(options any, _ environment.Other) {
			if o := of(options); o.Network == "nat" {
				o.Network = "tap"
			}
		},
	}
}
