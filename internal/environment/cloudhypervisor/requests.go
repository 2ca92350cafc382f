package cloudhypervisor

import (
	"context"

	"tare/internal/environment/support/microvm"
)

// root is the prefix of all paths of the API.
const root = "/api/v1"

// The bodies of Cloud Hypervisor's requests, with the fields that are used here.
type (
	cpus struct {
		Boot int `json:"boot_vcpus"`
		Max  int `json:"max_vcpus"`
	}
	memory struct {
		Size int64 `json:"size"`
	}
	payload struct {
		Kernel    string `json:"kernel"`
		Initramfs string `json:"initramfs"`
		Line      string `json:"cmdline"`
	}
	disk struct {
		ID       string `json:"id"`
		Path     string `json:"path"`
		ReadOnly bool   `json:"readonly"`
		Direct   bool   `json:"direct"`
		// Type is Raw. Where Cloud Hypervisor has to find the type out, it refuses
		// writes to a raw disk's first sector, which has an ext4 superblock behind it.
		Type    string           `json:"image_type"`
		Limiter *microvm.Limiter `json:"rate_limiter_config,omitempty"`
	}
	network struct {
		ID      string           `json:"id"`
		Tap     string           `json:"tap"`
		MAC     string           `json:"mac"`
		Limiter *microvm.Limiter `json:"rate_limiter_config,omitempty"`
	}
	vsock struct {
		CID    int    `json:"cid"`
		Socket string `json:"socket"`
	}
	console struct {
		Mode string `json:"mode"`
	}
	config struct {
		CPUs    cpus      `json:"cpus"`
		Memory  memory    `json:"memory"`
		Payload payload   `json:"payload"`
		Disks   []disk    `json:"disks"`
		Net     []network `json:"net,omitempty"`
		VSock   vsock     `json:"vsock"`
		Serial  console   `json:"serial"`
		Console console   `json:"console"`
	}
	snapshot struct {
		To string `json:"destination_url"`
	}
	restore struct {
		From string `json:"source_url"`
	}
)

// config returns the configuration of a guest.
func (h *hypervisor) config(m *microvm.Machine) config {
	o := &h.options
	drive := func(id string, readOnly bool) disk {
		return disk{ID: id, Path: id, ReadOnly: readOnly, Direct: o.Cache == "none", Type: "Raw", Limiter: m.Disk}
	}
	c := config{
		CPUs: cpus{m.CPUs, m.CPUs}, Memory: memory{int64(m.Memory)},
		Payload: payload{microvm.Kernel, microvm.Initramfs, m.CommandLine},
		Disks:   []disk{drive(microvm.Root, !m.RootWritable), drive(microvm.Data, false)}, // /dev/vda and /dev/vdb
		VSock:   vsock{microvm.GuestCID, microvm.VSock},
		Serial:  console{"Tty"}, Console: console{"Off"},
	}
	if m.Port != nil {
		c.Net = []network{{ID: "eth0", Tap: m.Port.Device, MAC: m.Port.MAC.String(), Limiter: o.NetLimiter()}}
	}
	return c
}

// Define configures the guest.
func (h *hypervisor) Define(m *microvm.Machine) ([]microvm.Request, error) {
	return []microvm.Request{microvm.Put(root+"/vm.create", h.config(m))}, nil
}

// Save saves a paused guest.
func (h *hypervisor) Save(m *microvm.Machine) microvm.Request {
	return microvm.Put(root+"/vm.snapshot", snapshot{url(m.Directory)})
}

// Load restores a guest from a snapshot. Its disks and its vsock have the paths of
// the saved guest, which are relative to the directory in which the VMM runs.
func (h *hypervisor) Load(m *microvm.Machine) ([]microvm.Request, error) {
	return []microvm.Request{microvm.Put(root+"/vm.restore", restore{url(m.Directory)})}, nil
}

// Limiters returns the limiters of the disks that Cloud Hypervisor reports.
func (h *hypervisor) Limiters(ctx context.Context, api *microvm.API) (list []*microvm.Limiter, err error) {
	var has struct {
		Config config `json:"config"`
	}
	err = api.Get(ctx, root+"/vm.info", &has)
	for _, d := range has.Config.Disks {
		list = append(list, d.Limiter)
	}
	return list, err
}
