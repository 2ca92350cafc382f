package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tare/internal/testing/fakevmm"
)

// The bodies, with all fields of the published description.
type (
	machineConfig struct {
		CPUs      int    `json:"vcpu_count" need:"yes"`
		Memory    int    `json:"mem_size_mib" need:"yes"`
		SMT       bool   `json:"smt"`
		Track     bool   `json:"track_dirty_pages"`
		HugePages string `json:"huge_pages,omitempty"`
		Template  string `json:"cpu_template,omitempty"`
	}
	bootSource struct {
		Kernel    string `json:"kernel_image_path" need:"yes"`
		Initramfs string `json:"initrd_path,omitempty"`
		Line      string `json:"boot_args,omitempty"`
	}
	drive struct {
		ID       string           `json:"drive_id" need:"yes"`
		PartUUID string           `json:"partuuid,omitempty"`
		Root     bool             `json:"is_root_device" need:"yes"`
		Cache    string           `json:"cache_type" one:"Unsafe Writeback"`
		ReadOnly bool             `json:"is_read_only"`
		Path     string           `json:"path_on_host,omitempty"`
		Limiter  *fakevmm.Limiter `json:"rate_limiter"`
		Engine   string           `json:"io_engine" one:"Sync Async"`
		Socket   string           `json:"socket,omitempty"`
	}
	netInterface struct {
		ID  string           `json:"iface_id" need:"yes"`
		Tap string           `json:"host_dev_name" need:"yes"`
		MAC string           `json:"guest_mac"`
		RX  *fakevmm.Limiter `json:"rx_rate_limiter"`
		TX  *fakevmm.Limiter `json:"tx_rate_limiter"`
	}
	vsock struct {
		ID   string `json:"vsock_id,omitempty"`
		CID  int    `json:"guest_cid" need:"yes"`
		Path string `json:"uds_path" need:"yes"`
	}
)

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
	if err := fakevmm.Decode(body, &t); err != nil {
		return fmt.Errorf("An error occurred when deserializing the json body of a request: %w.", err)
	}
	return apply(t)
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

// configureID does so for a device, and replaces an earlier one with its ID.
func configureID[T interface{ id() string }](v *vmm, id string, body []byte, list *[]T, check func(T) error) error {
	if strings.Trim(strings.ToLower(id), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || id == "" {
		return errors.New("API Resource IDs can only contain alphanumeric characters and underscores.")
	}
	return configure(v, body, func(t T) error {
		if t.id() != id {
			return errors.New("The id from the path does not match the id from the body!")
		}
		if err := check(t); err != nil {
			return err
		}
		*list = append(slices.DeleteFunc(*list, func(o T) bool { return o.id() == id }), t)
		return nil
	})
}

func openable(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

type logger struct {
	Path       string `json:"log_path"`
	Level      string `json:"level"`
	ShowLevel  bool   `json:"show_level"`
	ShowOrigin bool   `json:"show_log_origin"`
	Module     string `json:"module"`
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

type metrics struct {
	Path string `json:"metrics_path" need:"yes"`
}

func (v *vmm) setMetrics(m metrics) error {
	switch {
	case v.running != nil:
		return errAfterStart
	case v.metrics != "":
		return errors.New("Metrics error: Cannot initialize the metrics system: Reinitialization of metrics not allowed.")
	}
	v.metrics = m.Path
	return nil
}

func (v *vmm) setMachine(m machineConfig) error {
	if m.CPUs < 1 || m.CPUs > 32 || m.SMT && m.CPUs > 1 && m.CPUs%2 != 0 {
		return errors.New("Machine config error: The vCPU number is invalid! The vCPU number can only be 1 or an even number when SMT is enabled.")
	}
	v.machine = m
	return nil
}

func (v *vmm) setBoot(b bootSource) error {
	if err := openable(b.Kernel, os.O_RDONLY); err != nil {
		return fmt.Errorf("Boot source error: The kernel file cannot be opened: %w", err)
	}
	if err := openable(b.Initramfs, os.O_RDONLY); b.Initramfs != "" && err != nil {
		return fmt.Errorf("Boot source error: The initrd file cannot be opened due to invalid path or invalid permissions. %w", err)
	}
	if len(b.Line) >= 2048 {
		return errors.New("Boot source error: The kernel command line is invalid: insertion would cause the command line to exceed the maximum size")
	}
	v.boot = &b
	return nil
}

func (v *vmm) checkDrive(d drive) error {
	const what = "Drive config error: "
	switch err := openable(d.Path, os.O_RDONLY); {
	case d.Path == "" || d.Socket != "":
		return fmt.Errorf(what+"Unable to create the virtio block device: Unable to create the block device %s: needs path_on_host", d.ID)
	case err != nil:
		return fmt.Errorf(what+"Unable to create the virtio block device: Virtio backend error: Error manipulating the backing file: %w %s", err, d.Path)
	case d.Root && slices.ContainsFunc(v.drives, func(o drive) bool { return o.Root && o.ID != d.ID }):
		return errors.New(what + "A root block device already exists!")
	}
	return nil
}

func (v *vmm) checkNet(n netInterface) error {
	if slices.ContainsFunc(v.nets, func(o netInterface) bool { return o.MAC == n.MAC && o.ID != n.ID }) {
		return fmt.Errorf("Network config error: The MAC address is already in use: %s", n.MAC)
	}
	return nil
}

func (v *vmm) setVSock(s vsock) error {
	if s.CID < 3 {
		return fmt.Errorf("Vsock config error: The guest CID is invalid: %d", s.CID)
	}
	v.vsock = &s
	return nil
}

// guestConfig converts the configuration to that of QEMU's guest.
func (v *vmm) guestConfig() fakevmm.Guest {
	g := fakevmm.Guest{Kernel: v.boot.Kernel, Initramfs: v.boot.Initramfs, Line: v.boot.Line, CPUs: v.machine.CPUs, MemoryMiB: v.machine.Memory}
	for _, d := range v.drives {
		disk := fakevmm.Disk{Path: d.Path, ReadOnly: d.ReadOnly, Cache: "unsafe"}
		if d.Cache == "Writeback" {
			disk.Cache = "writeback"
		}
		disk.Bandwidth, disk.Ops = d.Limiter.Rates()
		g.Disks = append(g.Disks, disk)
	}
	for _, n := range v.nets {
		g.Nets = append(g.Nets, fakevmm.Net{Tap: n.Tap, MAC: n.MAC})
	}
	if v.vsock != nil {
		g.VSock = v.vsock.Path
	}
	return g
}

// state is the file of a snapshot that is not the guest's memory.
type state struct {
	Guest  fakevmm.Guest
	Drives []drive
}

type snapshotCreate struct {
	Type     string `json:"snapshot_type" one:"Full Diff"`
	Snapshot string `json:"snapshot_path" need:"yes"`
	Memory   string `json:"mem_file_path" need:"yes"`
}

// createSnapshot saves a paused guest.
func (v *vmm) createSnapshot(c snapshotCreate) error {
	switch {
	case v.running == nil:
		return errBeforeStart
	case v.state != "Paused":
		return errors.New("Create snapshot error: Cannot create snapshot: The microVM is not paused: operation not allowed")
	}
	data, err := json.Marshal(state{v.guest, v.drives})
	if err == nil {
		err = os.WriteFile(c.Snapshot, data, 0o600)
	}
	if err == nil {
		err = v.running.Save(context.Background(), c.Memory)
	}
	if err != nil {
		return fmt.Errorf("Create snapshot error: %w", err)
	}
	return nil
}

type snapshotLoad struct {
	Snapshot string `json:"snapshot_path" need:"yes"`
	Memory   string `json:"mem_file_path"`
	Backend  *struct {
		Type string `json:"backend_type" one:"File"`
		Path string `json:"backend_path"`
	} `json:"mem_backend"`
	Diff      bool              `json:"enable_diff_snapshots"`
	Track     bool              `json:"track_dirty_pages"`
	Resume    bool              `json:"resume_vm"`
	Overrides []json.RawMessage `json:"network_overrides"`
}

// loadSnapshot restores a guest, in a VMM that was not configured.
func (v *vmm) loadSnapshot(l snapshotLoad) error {
	switch {
	case (l.Memory == "") == (l.Backend == nil):
		return errors.New("missing field: either `mem_backend` or `mem_file_path` is required")
	case v.running != nil:
		return errAfterStart
	case v.configured:
		return errors.New("Load snapshot error: Loading a microVM snapshot not allowed after configuring boot-specific resources.")
	case l.Backend != nil:
		l.Memory = l.Backend.Path
	}
	var from state
	data, err := os.ReadFile(l.Snapshot)
	if err == nil {
		err = json.Unmarshal(data, &from)
	}
	v.guest, v.drives = from.Guest, from.Drives
	if err == nil {
		err = openable(l.Memory, os.O_RDONLY)
	}
	if err == nil {
		err = v.run(l.Memory, l.Resume)
	}
	if err != nil { // Firecracker exits after this
		return fmt.Errorf("Load snapshot error: Failed to restore from snapshot: %w", err)
	}
	return nil
}
