package main

import (
	"net/http"
	"os"

	"tare/internal/testing/fakevmm"
)

// The configuration of a VM, with the fields of the published description that
// a test may send.
type (
	bucket struct {
		Size   int64 `json:"size"`
		Burst  int64 `json:"one_time_burst,omitempty"`
		Refill int64 `json:"refill_time"`
	}
	limiter struct {
		Bandwidth *bucket `json:"bandwidth,omitempty"`
		Ops       *bucket `json:"ops,omitempty"`
	}
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
		} `json:"payload"`
		Disks []struct {
			ID       string   `json:"id,omitempty"`
			Path     string   `json:"path,omitempty"`
			ReadOnly bool     `json:"readonly"`
			Direct   bool     `json:"direct"`
			Queues   int      `json:"num_queues,omitempty"`
			Serial   string   `json:"serial,omitempty"`
			Limiter  *limiter `json:"rate_limiter_config,omitempty"`
		} `json:"disks,omitempty"`
		Net []struct {
			ID      string   `json:"id,omitempty"`
			Tap     string   `json:"tap,omitempty"`
			MAC     string   `json:"mac,omitempty"`
			Limiter *limiter `json:"rate_limiter_config,omitempty"`
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

func malformed(says string) error {
	return &refusal{http.StatusBadRequest, []string{"Failed to deserialize JSON", says}}
}

func decode(body []byte, into any) error {
	if len(body) == 0 {
		return &refusal{http.StatusBadRequest, []string{"Bad Request"}}
	}
	if err := fakevmm.Decode(body, into); err != nil {
		return malformed(err.Error())
	}
	return nil
}

func rate(l *limiter) (bytes, ops int64) {
	each := func(b *bucket) int64 {
		if b == nil || b.Refill == 0 {
			return 0
		}
		return b.Size * 1000 / b.Refill
	}
	if l == nil {
		return 0, 0
	}
	return each(l.Bandwidth), each(l.Ops)
}

// create takes the configuration of a VM, which does not boot yet.
func (h *hypervisor) create(body []byte) error {
	const what = "The VM could not be created"
	var c config
	if err := decode(body, &c); err != nil {
		return err
	}
	invalid := func(why string) error {
		return refuse(http.StatusInternalServerError, what, "The VM config is not valid", why)
	}
	switch {
	case h.config != nil:
		return refuse(http.StatusInternalServerError, what, "VM is already created")
	case c.Payload == nil:
		return malformed("missing field `payload`")
	case c.Payload.Kernel == "" && c.Payload.Firmware == "":
		return invalid("Specify either --kernel or --firmware")
	case c.CPUs != nil && (c.CPUs.Boot < 1 || c.CPUs.Boot > c.CPUs.Max):
		return invalid("Max CPUs must be greater than or equal to boot CPUs, which are at least 1")
	case c.VSock != nil && c.VSock.CID < 3:
		return invalid("Reserved CID")
	}
	g := fakevmm.Guest{Kernel: c.Payload.Kernel, Initramfs: c.Payload.Initramfs, Line: c.Payload.Line, CPUs: 1, MemoryMiB: 512, PCI: true}
	if c.CPUs != nil {
		g.CPUs = c.CPUs.Boot
	}
	if c.Memory != nil {
		g.MemoryMiB = int(c.Memory.Size >> 20)
	}
	for _, d := range c.Disks {
		if d.Path == "" {
			return invalid("Disk path is missing")
		}
		if _, err := os.Stat(d.Path); err != nil {
			return refuse(http.StatusInternalServerError, what, "Error manipulating disk file", err.Error())
		}
		disk := fakevmm.Disk{Path: d.Path, ReadOnly: d.ReadOnly, Cache: "writeback"}
		if d.Direct {
			disk.Cache = "none"
		}
		disk.Bandwidth, disk.Ops = rate(d.Limiter)
		g.Disks = append(g.Disks, disk)
	}
	for _, n := range c.Net {
		g.Nets = append(g.Nets, fakevmm.Net{Tap: n.Tap, MAC: n.MAC})
	}
	if c.VSock != nil {
		g.VSock = c.VSock.Socket
	}
	h.config, h.guest, h.state = &c, g, "Created"
	h.tell("vm", "created")
	return nil
}
