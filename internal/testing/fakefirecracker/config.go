package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/testing/fakevmm"
)

// The bodies, with all fields of the published description, in the order of
// Firecracker's types.
type (
	machineConfig struct {
		CPUs      int    `json:"vcpu_count" need:"yes"`
		Memory    int    `json:"mem_size_mib" need:"yes"`
		SMT       bool   `json:"smt"`
		Template  string `json:"cpu_template,omitempty"`
		Track     bool   `json:"track_dirty_pages"`
		HugePages string `json:"huge_pages" one:"None Transparent 2M"`
	}
	bootSource struct {
		Kernel    string  `json:"kernel_image_path" need:"yes"`
		Initramfs *string `json:"initrd_path"`
		Line      *string `json:"boot_args"`
	}
	drive struct {
		ID       string           `json:"drive_id" need:"yes"`
		PartUUID *string          `json:"partuuid"`
		Root     bool             `json:"is_root_device" need:"yes"`
		Cache    string           `json:"cache_type" one:"Unsafe Writeback"`
		ReadOnly bool             `json:"is_read_only"`
		Path     string           `json:"path_on_host,omitempty"`
		Limiter  *fakevmm.Limiter `json:"rate_limiter"`
		Engine   string           `json:"io_engine" one:"Async Sync"`
		Socket   *string          `json:"socket"`
	}
	netInterface struct {
		ID  string           `json:"iface_id" need:"yes"`
		Tap string           `json:"host_dev_name" need:"yes"`
		MAC *mac             `json:"guest_mac"`
		MTU *int             `json:"mtu"`
		RX  *fakevmm.Limiter `json:"rx_rate_limiter"`
		TX  *fakevmm.Limiter `json:"tx_rate_limiter"`
	}
	vsock struct {
		ID   string `json:"vsock_id,omitempty"`
		CID  int    `json:"guest_cid" need:"yes"`
		Path string `json:"uds_path" need:"yes"`
	}
	logger struct {
		Path       string `json:"log_path"`
		Level      level  `json:"level"`
		ShowLevel  bool   `json:"show_level"`
		ShowOrigin bool   `json:"show_log_origin"`
		Module     string `json:"module"`
	}
	metrics struct {
		Path       string          `json:"metrics_path" need:"yes"`
		EmitID     bool            `json:"emit_id"`
		Properties json.RawMessage `json:"properties"`
	}
	mac   string
	level string
)

// Check checks an address.
func (m mac) Check() error {
	if hardware, err := net.ParseMAC(string(m)); err != nil || len(hardware) != 6 {
		return errors.New("The provided MAC address is invalid.")
	}
	return nil
}

// Check checks a level.
func (l level) Check() error {
	if !slices.Contains([]string{"off", "trace", "debug", "info", "warn", "warning", "error"}, strings.ToLower(string(l))) {
		return errors.New("Invalid LevelFilter")
	}
	return nil
}

func (d drive) id() string        { return d.ID }
func (n netInterface) id() string { return n.ID }

// The responses that many requests share.
var (
	errAfterStart  = errors.New("The requested operation is not supported after starting the microVM.")
	errBeforeStart = errors.New("The requested operation is not supported before starting the microVM.")
)

// decoded applies a body. One that cannot be decoded is refused before anything
// else is checked.
func decoded[T any](body []byte, apply func(T) error) error {
	var t T
	if err := fakevmm.Decode(body, &t, true); err != nil {
		return undecoded(err)
	}
	return apply(t)
}

func undecoded(err error) error {
	return fmt.Errorf("An error occurred when deserializing the json body of a request: %w.", err)
}

// configure applies a body that is accepted only before the start.
func configure[T any](v *vmm, body []byte, apply func(T) error) error {
	return decoded(body, func(t T) error {
		if v.running != nil {
			return errAfterStart
		}
		v.configured = true
		return apply(t)
	})
}

// idError checks the ID in a path.
func idError(id string) error {
	if id == "" {
		return errors.New("The ID cannot be empty.")
	}
	if strings.Trim(strings.ToLower(id), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return errors.New("API Resource IDs can only contain alphanumeric characters and underscores.")
	}
	return nil
}

// configureID applies the body of a device, and replaces an earlier one with its ID.
// other says that the body has another ID than the path.
func configureID[T interface{ id() string }](v *vmm, id string, body []byte, list *[]T, other func(T) string, check func(*T) error) error {
	if err := idError(id); err != nil {
		return err
	}
	return decoded(body, func(t T) error {
		if t.id() != id {
			return errors.New(other(t))
		}
		if v.running != nil {
			return errors.New("PCI is not enabled") // else it would be plugged in
		}
		v.configured = true
		if err := check(&t); err != nil {
			return err
		}
		*list = append(slices.DeleteFunc(*list, func(o T) bool { return o.id() == id }), t)
		return nil
	})
}

// openable opens a file; its error has Rust's words.
func openable(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return errors.New(fakevmm.SystemError(err))
	}
	return f.Close()
}

func (v *vmm) setLogger(l logger) error {
	if v.running != nil {
		return errAfterStart
	}
	if err := openable(l.Path, os.O_RDWR|os.O_APPEND|os.O_CREATE); l.Path != "" && err != nil {
		return fmt.Errorf("Logger error: Failed to open target file: %w", err)
	}
	v.log = l.Path
	return nil
}

func (v *vmm) setMetrics(m metrics) error {
	const what = "Metrics error: Cannot initialize the metrics system due to bad user input: "
	if v.running != nil {
		return errAfterStart
	}
	if err := openable(m.Path, os.O_RDWR|os.O_CREATE); err != nil {
		return fmt.Errorf(what+"%w", err)
	}
	if v.metrics != "" {
		return errors.New(what + "Reinitialization of metrics not allowed.")
	}
	v.metrics = m.Path
	return nil
}

func (v *vmm) setMachine(m machineConfig) error {
	switch {
	case m.CPUs < 1 || m.CPUs > 32 || m.SMT && m.CPUs > 1 && m.CPUs%2 != 0:
		return errors.New("Machine config error: The number of vCPUs must be greater than 0, less than 32 and must be 1 or an even number if SMT is enabled.")
	case m.Memory < 1:
		return errors.New("Machine config error: The memory size (MiB) is either 0, or not a multiple of the configured page size.")
	}
	m.HugePages = cmp.Or(m.HugePages, "None")
	v.machine = m
	return nil
}

// maxLine is the size of the kernel's command line, with the terminator.
const maxLine = 2048

func (v *vmm) setBoot(b bootSource) error {
	if err := openable(b.Kernel, os.O_RDONLY); err != nil {
		return fmt.Errorf("Boot source error: The kernel file cannot be opened: %w", err)
	}
	if b.Initramfs != nil {
		if err := openable(*b.Initramfs, os.O_RDONLY); err != nil {
			return fmt.Errorf("Boot source error: The initrd file cannot be opened due to invalid path or invalid permissions. %w", err)
		}
	}
	if b.Line != nil && len(*b.Line) >= maxLine {
		return errors.New("Boot source error: The kernel command line is invalid: Invalid cmdline capacity provided.")
	}
	v.boot = b
	return nil
}

func (v *vmm) checkDrive(d *drive) error {
	const what = "Drive config error: "
	switch err := openable(d.Path, os.O_RDONLY); {
	case d.Root && slices.ContainsFunc(v.drives, func(o drive) bool { return o.Root && o.ID != d.ID }):
		return errors.New(what + "A root block device already exists!")
	case d.Path == "" || d.Socket != nil:
		return errors.New(what + "Unable to create the virtio block device: Invalid block config.")
	case err != nil:
		return fmt.Errorf(what+"Unable to create the virtio block device: Virtio backend error: Error manipulating the backing file: %w %s", err, d.Path)
	}
	d.Cache, d.Engine = cmp.Or(d.Cache, "Unsafe"), cmp.Or(d.Engine, "Sync")
	return nil
}

func (v *vmm) checkNet(n *netInterface) error {
	const what = "Network config error: "
	if n.MAC != nil && slices.ContainsFunc(v.nets, func(o netInterface) bool { return o.MAC != nil && *o.MAC == *n.MAC && o.ID != n.ID }) {
		return fmt.Errorf(what+"The MAC address is already in use: %s", *n.MAC)
	}
	tap, err := openTap(n.Tap)
	if err != nil {
		return fmt.Errorf(what+"Could not create the network device: Open tap device failed: %w", err)
	}
	v.taps = append(v.taps, tap)
	return nil
}

// openTap opens a tap, or makes one. Nobody else can while it is open.
func openTap(name string) (*os.File, error) {
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("Couldn't open /dev/net/tun: %s", fakevmm.SystemError(err))
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, errors.Join(errors.New("Invalid interface name"), f.Close())
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(int(f.Fd()), unix.TUNSETIFF, request); err != nil {
		words := strings.Replace(fakevmm.SystemError(err), "Device or resource busy", "Resource busy", 1) // musl's
		return nil, errors.Join(fmt.Errorf("Error while creating ifreq structure: %s. Invalid TUN/TAP Backend provided by %s. Check our documentation on setting up the network devices.", words, name), f.Close())
	}
	return f, nil
}

func (v *vmm) setVSock(s vsock) error {
	v.vsock = &s
	return nil
}

// checkLine checks that the kernel's command line has room for what Firecracker adds:
// that there is no PCI, and where each device is.
func (v *vmm) checkLine() error {
	const full = "Inserting string would make command line too long."
	const firstDevice, size, firstInterrupt = 0xc0001000, 0x1000, 5
	length, devices := len(text(v.boot.Line))+len(" pci=off"), len(v.drives)+len(v.nets)
	if length >= maxLine {
		return errors.New("Invalid kernel command line: " + full)
	}
	if v.vsock != nil {
		devices++
	}
	for n := range devices {
		length += len(fmt.Sprintf(" virtio_mmio.device=4K@%#x:%d", firstDevice+n*size, firstInterrupt+n))
	}
	if length >= maxLine {
		return errors.New("Could not attach device: MMIO transport error: Failed to allocate requested resourc: " + full)
	}
	return nil
}

// text is a value that may be left out.
func text[T ~string](given *T) (text T) {
	if given != nil {
		text = *given
	}
	return text
}

// guestConfig converts the configuration to that of QEMU's guest.
func (v *vmm) guestConfig() fakevmm.Guest {
	g := fakevmm.Guest{Kernel: v.boot.Kernel, Initramfs: text(v.boot.Initramfs), Line: text(v.boot.Line), CPUs: v.machine.CPUs, MemoryMiB: v.machine.Memory}
	for _, d := range v.drives {
		disk := fakevmm.Disk{Path: d.Path, ReadOnly: d.ReadOnly, Cache: "unsafe"}
		if d.Cache == "Writeback" {
			disk.Cache = "writeback"
		}
		disk.Bandwidth, disk.Ops = d.Limiter.Rates()
		g.Disks = append(g.Disks, disk)
	}
	for _, n := range v.nets {
		g.Nets = append(g.Nets, fakevmm.Net{Tap: n.Tap, MAC: string(text(n.MAC))})
	}
	if v.vsock != nil {
		g.VSock = v.vsock.Path
	}
	return g
}
