package main

import (
	"net/http"
	"os"

	"tare/internal/testing/fakevmm"
)

// The configuration of a VM, with the fields of the published description that
// tests send.
type (
	config struct {
		CPUs *struct {
			Boot     int `json:"boot_vcpus"`
			Max      int `json:"max_vcpus"`
			Affinity []struct {
				CPU  int   `json:"vcpu"`
				Host []int `json:"host_cpus"`
			} `json:"affinity,omitempty"`
		} `json:"cpus,omitempty"`
		Memory *struct {
			Size      int64 `json:"size"`
			Shared    bool  `json:"shared"`
			HugePages bool  `json:"hugepages"`
			Prefault  bool  `json:"prefault"`
		} `json:"memory,omitempty"`
		Payload *struct {
			Firmware  string `json:"firmware,omitempty"`
			Kernel    string `json:"kernel,omitempty"`
			Line      string `json:"cmdline,omitempty"`
			Initramfs string `json:"initramfs,omitempty"`
		} `json:"payload" need:"yes"`
		Disks []struct {
			ID       string           `json:"id,omitempty"`
			Path     string           `json:"path,omitempty"`
			ReadOnly bool             `json:"readonly"`
			Direct   bool             `json:"direct"`
			Queues   int              `json:"num_queues,omitempty"`
			Serial   string           `json:"serial,omitempty"`
			Limiter  *fakevmm.Limiter `json:"rate_limiter_config,omitempty"`
		} `json:"disks,omitempty"`
		Net []struct {
			ID      string           `json:"id,omitempty"`
			Tap     string           `json:"tap,omitempty"`
			MAC     string           `json:"mac,omitempty"`
			Limiter *fakevmm.Limiter `json:"rate_limiter_config,omitempty"`
		} `json:"net,omitempty"`
		VSock *struct {
			CID    int64  `json:"cid"`
			Socket string `json:"socket"`
			ID     string `json:"id,omitempty"`
		} `json:"vsock,omitempty"`
		Serial  *console `json:"serial,omitempty"`
		Console *console `json:"console,omitempty"`
		PVPanic bool     `json:"pvpanic"`
	}
	console struct {
		Mode   string `json:"mode"`
		File   string `json:"file,omitempty"`
		Socket string `json:"socket,omitempty"`
	}
)

func decode(body []byte, into any) error {
	if len(body) == 0 {
		return &refusal{http.StatusBadRequest, []string{"Bad Request"}}
	}
	if err := fakevmm.Decode(body, into); err != nil {
		return &refusal{http.StatusBadRequest, []string{"Failed to deserialize JSON", err.Error()}}
	}
	return nil
}

// create takes the configuration of a VM, which does not boot yet.
func (h *hypervisor) create(body []byte) error {
	const what = "The VM could not be created"
	var c config
	if err := decode(body, &c); err != nil {
		return err
	}
	invalid := ""
	switch {
	case h.config != nil:
		return failed(what, "VM is already created")
	case c.Payload.Kernel == "" && c.Payload.Firmware == "":
		invalid = "Specify either --kernel or --firmware"
	case c.CPUs != nil && (c.CPUs.Boot < 1 || c.CPUs.Boot > c.CPUs.Max):
		invalid = "Max CPUs must be greater than or equal to boot CPUs, which are at least 1"
	case c.VSock != nil && c.VSock.CID < 3:
		invalid = "Reserved CID"
	}
	g := fakevmm.Guest{Kernel: c.Payload.Kernel, Initramfs: c.Payload.Initramfs, Line: c.Payload.Line, CPUs: 1, MemoryMiB: 512, PCI: true}
	if c.CPUs != nil {
		g.CPUs = c.CPUs.Boot
	}
	if c.Memory != nil {
		g.MemoryMiB = int(c.Memory.Size >> 20)
	}
	for _, d := range c.Disks {
		if _, err := os.Stat(d.Path); d.Path == "" {
			invalid = "Disk path is missing"
		} else if err != nil {
			return failed(what, "Error manipulating disk file", err.Error())
		}
		disk := fakevmm.Disk{Path: d.Path, ReadOnly: d.ReadOnly, Cache: "writeback"}
		if d.Direct {
			disk.Cache = "none"
		}
		disk.Bandwidth, disk.Ops = d.Limiter.Rates()
		g.Disks = append(g.Disks, disk)
	}
	if invalid != "" {
		return failed(what, "The VM config is not valid", invalid)
	}
	for _, n := range c.Net {
		g.Nets = append(g.Nets, fakevmm.Net{Tap: n.Tap, MAC: n.MAC})
	}
	if c.VSock != nil {
		g.VSock = c.VSock.Socket
	}
	h.config, h.guest, h.state = &c, g, "Created"
	h.event("vm", "created")
	return nil
}
