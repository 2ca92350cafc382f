package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"tare/internal/testing/fakevmm"
)

// The configuration of a VM, with the fields of the published description that
// tests send.
type (
	config struct {
		CPUs *struct {
			Boot int `json:"boot_vcpus" need:"yes"`
			Max  int `json:"max_vcpus" need:"yes"`
		} `json:"cpus,omitempty"`
		Memory *struct {
			Size      int64 `json:"size" need:"yes"`
			Shared    bool  `json:"shared"`
			HugePages bool  `json:"hugepages"`
			Prefault  bool  `json:"prefault"`
		} `json:"memory,omitempty"`
		Payload *payload     `json:"payload,omitempty"`
		Disks   []disk       `json:"disks,omitempty"`
		Net     []networking `json:"net,omitempty"`
		VSock   *struct {
			CID    int64  `json:"cid" need:"yes"`
			Socket string `json:"socket" need:"yes"`
		} `json:"vsock,omitempty"`
		Serial  *console `json:"serial,omitempty"`
		Console *console `json:"console,omitempty"`
		PVPanic bool     `json:"pvpanic"`
	}
	payload struct {
		Firmware  string `json:"firmware,omitempty"`
		Kernel    string `json:"kernel,omitempty"`
		Line      string `json:"cmdline,omitempty"`
		Initramfs string `json:"initramfs,omitempty"`
	}
	disk struct {
		ID       string           `json:"id,omitempty"`
		Path     string           `json:"path,omitempty"`
		ReadOnly bool             `json:"readonly"`
		Direct   bool             `json:"direct"`
		Serial   string           `json:"serial,omitempty"`
		Type     string           `json:"image_type,omitempty" one:"FixedVhd Qcow2 Raw Vhdx Unknown"`
		Limiter  *fakevmm.Limiter `json:"rate_limiter_config,omitempty"`
	}
	networking struct {
		ID      string           `json:"id,omitempty"`
		Tap     string           `json:"tap,omitempty"`
		MAC     mac              `json:"mac,omitempty"`
		Limiter *fakevmm.Limiter `json:"rate_limiter_config,omitempty"`
	}
	console struct {
		File string `json:"file,omitempty"`
		Mode mode   `json:"mode" need:"yes"`
	}
	mac  string
	mode string
)

// Check checks a mode. Its fields are part of an outer type's, and serde then places
// the error where that ends.
func (m mode) Check() error {
	modes := []string{"Off", "Pty", "Tty", "File", "Socket", "Null"}
	if !slices.Contains(modes, string(m)) {
		return fmt.Errorf("unknown variant `%s`, expected one of `%s`", string(m), strings.Join(modes, "`, `"))
	}
	return nil
}

// Check checks an address.
func (m mac) Check() error {
	if hardware, err := net.ParseMAC(string(m)); err != nil || len(hardware) != 6 {
		return fmt.Errorf("The provided MAC address is invalid: parsing of %s into a MAC address failed", string(m))
	}
	return nil
}

func decode(body []byte, into any) error {
	if len(body) == 0 {
		return &refusal{http.StatusBadRequest, []string{"Bad Request"}}
	}
	if err := fakevmm.Decode(body, into, false); err != nil {
		return &refusal{http.StatusBadRequest, []string{"Failed to deserialize JSON", err.Error()}}
	}
	return nil
}

// create takes the configuration of a VM. It is checked when the VM boots.
func (h *hypervisor) create(body []byte) error {
	if len(body) == 0 {
		return &refusal{http.StatusBadRequest, nil}
	}
	var c config
	if err := decode(body, &c); err != nil {
		return err
	}
	if h.config != nil {
		return failed("The VM could not be created", "VM is already created")
	}
	h.config, h.state = &c, "Created"
	return nil
}

// causes is an error with its chain of causes, without the outermost one.
type causes []string

func (c causes) Error() string { return strings.Join(c, ": ") }

// invalid checks what needs no look at the machine.
func (c *config) invalid() error {
	const what = "Failed to validate config"
	ids := map[string]bool{}
	for _, d := range c.Disks {
		if d.ID != "" && ids[d.ID] {
			return causes{what, fmt.Sprintf("Identifier %s is not unique", d.ID)}
		}
		ids[d.ID] = true
	}
	switch {
	case c.Payload == nil || c.Payload.Kernel == "" && c.Payload.Firmware == "":
		return causes{what, "Payload configuration is not bootable", "No bootitem provided: neither firmware nor kernel"}
	case c.CPUs != nil && c.CPUs.Boot > c.CPUs.Max:
		return causes{what, fmt.Sprintf("Max CPUs (%d) lower than boot CPUs (%d)", c.CPUs.Max, c.CPUs.Boot)}
	case c.VSock != nil && c.VSock.CID < 3:
		return causes{what, fmt.Sprintf("%d is a special VSOCK CID", c.VSock.CID)}
	}
	return nil
}

// errKernel wraps the error of a kernel that cannot be opened.
var errKernel = errors.New("Cannot open kernel file")

// guestOf checks a configuration, and converts it to that of QEMU's guest.
func (c *config) guestOf() (g fakevmm.Guest, err error) {
	const devices, longestName = "Error from device manager", 15
	if err := c.invalid(); err != nil {
		return g, err
	}
	p := c.Payload
	g = fakevmm.Guest{Kernel: p.Kernel, Initramfs: p.Initramfs, Line: p.Line, CPUs: 1, MemoryMiB: 512, PCI: true}
	if c.CPUs != nil {
		g.CPUs = max(1, c.CPUs.Boot) // it boots without any, and QEMU does not
	}
	if c.Memory != nil {
		g.MemoryMiB = int(c.Memory.Size >> 20)
	}
	for _, d := range c.Disks {
		if _, err := os.Stat(d.Path); d.Path == "" {
			return g, causes{devices, "No disk path was specified when one was expected"}
		} else if err != nil {
			return g, causes{devices, "Cannot open disk path", fmt.Sprintf("I/O error (path=%s op=open)", d.Path), fakevmm.SystemError(err)}
		}
		disk := fakevmm.Disk{Path: d.Path, ReadOnly: d.ReadOnly, Cache: "writeback"}
		if d.Direct {
			disk.Cache = "none"
		}
		disk.Bandwidth, disk.Ops = d.Limiter.Rates()
		g.Disks = append(g.Disks, disk)
	}
	for _, n := range c.Net {
		if len(n.Tap) > longestName {
			return g, causes{devices, "Cannot create virtio-net device", "Failed to open taps", "Open tap device failed",
				fmt.Sprintf("Interface name too long (max length is %d): %s", longestName, n.Tap)}
		}
		g.Nets = append(g.Nets, fakevmm.Net{Tap: n.Tap, MAC: string(n.MAC)})
	}
	if c.VSock != nil {
		g.VSock = c.VSock.Socket
	}
	if _, err := os.Stat(p.Initramfs); p.Initramfs != "" && err != nil {
		return g, causes{"Cannot open initramfs file", fakevmm.SystemError(err)}
	}
	if _, err := os.Stat(p.Kernel); err != nil {
		return g, fmt.Errorf("%w: %w", errKernel, causes{errKernel.Error(), fakevmm.SystemError(err)})
	}
	return g, nil
}
