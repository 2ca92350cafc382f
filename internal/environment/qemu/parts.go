package qemu

import (
	"slices"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
)

// ladderParts declares what the kind offers to ladders, from the processor
// outwards.
var ladderParts = environment.Parts{
	Switches: slices.Concat(
		[]environment.Switch{{Option: "accel", Values: map[string]environment.Value{
			"kvm": {Name: "hardware virtualization (KVM)"},
			"tcg": {Name: "software emulation (TCG)"},
		}}},
		environment.InOrder("model", "cpus", "memory"),
		[]environment.Switch{{Option: "machine", Values: map[string]environment.Value{
			"q35":     {Name: "machine type q35", Effect: "a PC with firmware and PCI, in place of a microvm"},
			"microvm": {Name: "machine type microvm", Effect: "a machine without firmware and PCI"},
		}}},
		environment.InOrder("kernel_args", "root_disk", "data_disk"),
		[]environment.Switch{{Option: "cache", Ways: [][]string{{"unsafe", "writeback", "none", "directsync"}}, Values: map[string]environment.Value{
			"unsafe":     {Name: "disk cache without syncs", Effect: "the guest's syncs are ignored"},
			"writeback":  {Name: "disk cache in the host's memory", Effect: "the guest's syncs reach the host's disk"},
			"none":       {Name: "disk cache mode none", Effect: "the guest's disks bypass the host's page cache"},
			"directsync": {Name: "disk cache mode directsync", Effect: "each write of the guest is synced"},
		}}},
		environment.InOrder("root_cache", "data_cache", "aio", "root_aio", "data_aio"),
		[]environment.Switch{
			{Option: "disk_device", Values: map[string]environment.Value{
				"nvme":       {Name: "NVMe disk", Effect: "the guest's disks are emulated NVMe devices, and not virtio's"},
				"virtio-blk": {Name: "virtio disk", Effect: "the guest's disks are virtio's"},
			}},
			{Option: "network", Ways: [][]string{{"none", "bridge", "nat"}}, Values: map[string]environment.Value{
				"bridge": {Name: "network device", Effect: "packets pass a virtio network card, QEMU, a tap and a bridge"},
				"user":   {Name: "user-mode network of QEMU", Effect: "packets pass a virtio network card and QEMU's own network stack"},
				"none":   {Name: "absence of a network device"},
			}},
		},
	),
	Guest: vmm.LadderGuest(func(options any) bool { return slices.Contains([]string{"bridge", "nat"}, options.(*Options).Network) }),
	// The lightest guest: what it can do without is switched after it.
	Approach: func(options any, _ environment.Other) {
		o := options.(*Options)
		o.Machine, o.Cache, o.AIO, o.DiskDevice = "microvm", "unsafe", "threads", "virtio-blk"
		o.RootCache, o.DataCache, o.RootAIO, o.DataAIO = "", "", "", ""
		if o.Network == "nat" {
			o.Network = "bridge"
		}
	},
}
