package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"tare/internal/testing/fakevmm"
)

// The bodies, with all the fields of the published description that are known.
type (
	bucket struct {
		Size   *int64 `json:"size"`
		Burst  *int64 `json:"one_time_burst"`
		Refill *int64 `json:"refill_time"`
	}
	limiter struct {
		Bandwidth *bucket `json:"bandwidth"`
		Ops       *bucket `json:"ops"`
	}
	machineConfig struct {
		CPUs      int     `json:"vcpu_count"`
		Memory    int     `json:"mem_size_mib"`
		SMT       bool    `json:"smt"`
		Track     bool    `json:"track_dirty_pages"`
		HugePages string  `json:"huge_pages,omitempty"`
		Template  *string `json:"cpu_template,omitempty"`
	}
	bootSource struct {
		Kernel    *string `json:"kernel_image_path"`
		Initramfs *string `json:"initrd_path"`
		Line      *string `json:"boot_args"`
	}
	drive struct {
		ID       *string  `json:"drive_id"`
		PartUUID *string  `json:"partuuid"`
		Root     *bool    `json:"is_root_device"`
		Cache    string   `json:"cache_type"`
		ReadOnly bool     `json:"is_read_only"`
		Path     *string  `json:"path_on_host"`
		Limiter  *limiter `json:"rate_limiter"`
		Engine   string   `json:"io_engine"`
		Socket   *string  `json:"socket"`
	}
	netInterface struct {
		ID  *string  `json:"iface_id"`
		Tap *string  `json:"host_dev_name"`
		MAC string   `json:"guest_mac"`
		RX  *limiter `json:"rx_rate_limiter"`
		TX  *limiter `json:"tx_rate_limiter"`
	}
	vsock struct {
		ID   *string `json:"vsock_id"`
		CID  *int    `json:"guest_cid"`
		Path *string `json:"uds_path"`
	}
)

// missing names a field as the deserializer does.
func missing(name string, there bool) error {
	if there {
		return nil
	}
	return fmt.Errorf("An error occurred when deserializing the json body of a request: missing field `%s` at line 1 column 1.", name)
}

func first(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *vmm) setLogger(body []byte) error {
	var l struct {
		Path       string `json:"log_path"`
		Level      string `json:"level"`
		ShowLevel  bool   `json:"show_level"`
		ShowOrigin bool   `json:"show_log_origin"`
		Module     string `json:"module"`
	}
	if err := decode(body, &l); err != nil {
		return err
	}
	if v.running != nil {
		return fmt.Errorf(afterStart)
	}
	if l.Path != "" {
		if err := openable(l.Path); err != nil {
			return fmt.Errorf("Logger error: Failed to open target file: %w", err)
		}
		v.log = l.Path
	}
	return nil
}

func (v *vmm) setMetrics(body []byte) error {
	var m struct {
		Path *string `json:"metrics_path"`
	}
	if err := first(decode(body, &m), missing("metrics_path", m.Path != nil)); err != nil {
		return err
	}
	switch {
	case v.running != nil:
		return fmt.Errorf(afterStart)
	case v.metrics != "":
		return fmt.Errorf("Metrics error: Cannot initialize the metrics system: Reinitialization of metrics not allowed.")
	}
	v.metrics = *m.Path
	return nil
}

func openable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// configure takes what only a guest that has not started may be told.
func (v *vmm) configure(route, id string, body []byte) error {
	read := map[string]func(string, []byte) (func() error, error){
		"machine-config": v.readMachine, "boot-source": v.readBoot, "drives": v.readDrive,
		"network-interfaces": v.readNet, "vsock": v.readVSock,
	}
	take, err := read[route](id, body)
	if err != nil { // what cannot be read is refused before anything is looked at
		return err
	}
	if v.running != nil {
		return fmt.Errorf(afterStart)
	}
	v.configured = true
	return take()
}

func (v *vmm) readMachine(_ string, body []byte) (func() error, error) {
	var m machineConfig
	if err := first(decode(body, &m), missing("vcpu_count", m.CPUs != 0), missing("mem_size_mib", m.Memory != 0)); err != nil {
		return nil, err
	}
	return func() error {
		if m.CPUs < 1 || m.CPUs > 32 || m.SMT && m.CPUs > 1 && m.CPUs%2 != 0 {
			return fmt.Errorf("Machine config error: The vCPU number is invalid! The vCPU number can only be 1 or an even number when SMT is enabled.")
		}
		v.machine = m
		return nil
	}, nil
}

func (v *vmm) readBoot(_ string, body []byte) (func() error, error) {
	var b bootSource
	if err := first(decode(body, &b), missing("kernel_image_path", b.Kernel != nil)); err != nil {
		return nil, err
	}
	return func() error {
		if err := readable(*b.Kernel); err != nil {
			return fmt.Errorf("Boot source error: The kernel file cannot be opened: %w", err)
		}
		if b.Initramfs != nil {
			if err := readable(*b.Initramfs); err != nil {
				return fmt.Errorf("Boot source error: The initrd file cannot be opened due to invalid path or invalid permissions. %w", err)
			}
		}
		if b.Line == nil {
			line := "reboot=k panic=1 nomodule 8250.nr_uarts=0 i8042.noaux i8042.nomux i8042.dumbkbd swiotlb=noforce"
			b.Line = &line
		}
		if len(*b.Line) >= 2048 {
			return fmt.Errorf("Boot source error: The kernel command line is invalid: insertion would cause the command line to exceed the maximum size")
		}
		v.boot = &b
		return nil
	}, nil
}

func (v *vmm) readDrive(id string, body []byte) (func() error, error) {
	var d drive
	if err := first(checkID(id), decode(body, &d), missing("drive_id", d.ID != nil), missing("is_root_device", d.Root != nil),
		variant(d.Cache, "Unsafe", "Writeback"), variant(d.Engine, "Sync", "Async"), complete(d.Limiter)); err != nil {
		return nil, err
	}
	if *d.ID != id {
		return nil, fmt.Errorf("The id from the path does not match the id from the body!")
	}
	return func() error {
		if d.Path == nil || d.Socket != nil {
			return fmt.Errorf("Drive config error: Unable to create the virtio block device: Unable to create the block device %s: needs path_on_host", id)
		}
		if err := readable(*d.Path); err != nil {
			return fmt.Errorf("Drive config error: Unable to create the virtio block device: Virtio backend error: Error manipulating the backing file: %w %s", err, *d.Path)
		}
		if *d.Root && slices.ContainsFunc(v.drives, func(o drive) bool { return *o.Root && *o.ID != id }) {
			return fmt.Errorf("Drive config error: A root block device already exists!")
		}
		v.drives = append(slices.DeleteFunc(v.drives, func(o drive) bool { return *o.ID == id }), d)
		return nil
	}, nil
}

func (v *vmm) readNet(id string, body []byte) (func() error, error) {
	var n netInterface
	if err := first(checkID(id), decode(body, &n), missing("iface_id", n.ID != nil), missing("host_dev_name", n.Tap != nil),
		complete(n.RX), complete(n.TX)); err != nil {
		return nil, err
	}
	if *n.ID != id {
		return nil, fmt.Errorf("The id from the path does not match the id from the body!")
	}
	return func() error {
		if slices.ContainsFunc(v.nets, func(o netInterface) bool { return o.MAC == n.MAC && *o.ID != id }) {
			return fmt.Errorf("Network config error: The MAC address is already in use: %s", n.MAC)
		}
		v.nets = append(slices.DeleteFunc(v.nets, func(o netInterface) bool { return *o.ID == id }), n)
		return nil
	}, nil
}

func (v *vmm) readVSock(_ string, body []byte) (func() error, error) {
	var s vsock
	if err := first(decode(body, &s), missing("guest_cid", s.CID != nil), missing("uds_path", s.Path != nil)); err != nil {
		return nil, err
	}
	return func() error {
		if *s.CID < 3 {
			return fmt.Errorf("Vsock config error: The guest CID is invalid: %d", *s.CID)
		}
		v.vsock = &s
		return nil
	}, nil
}

func checkID(id string) error {
	if id == "" {
		return fmt.Errorf("The ID cannot be empty.")
	}
	if strings.Trim(strings.ToLower(id), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return fmt.Errorf("API Resource IDs can only contain alphanumeric characters and underscores.")
	}
	return nil
}

func variant(value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("An error occurred when deserializing the json body of a request: unknown variant `%s`, expected one of `%s` at line 1 column 1.", value, strings.Join(allowed, "`, `"))
}

func complete(l *limiter) error {
	if l == nil {
		return nil
	}
	for _, b := range []*bucket{l.Bandwidth, l.Ops} {
		if b == nil {
			continue
		}
		if err := first(missing("size", b.Size != nil), missing("refill_time", b.Refill != nil)); err != nil {
			return err
		}
	}
	return nil
}

func rate(l *limiter) (bytes, ops int64) {
	each := func(b *bucket) int64 {
		if b == nil || *b.Refill == 0 {
			return 0
		}
		return *b.Size * 1000 / *b.Refill
	}
	if l == nil {
		return 0, 0
	}
	return each(l.Bandwidth), each(l.Ops)
}

// define makes of the configuration what QEMU is told.
func (v *vmm) define() fakevmm.Guest {
	g := fakevmm.Guest{Kernel: *v.boot.Kernel, Line: *v.boot.Line, CPUs: v.machine.CPUs, MemoryMiB: v.machine.Memory}
	if v.boot.Initramfs != nil {
		g.Initramfs = *v.boot.Initramfs
	}
	for _, d := range v.drives {
		disk := fakevmm.Disk{Path: *d.Path, ReadOnly: d.ReadOnly, Cache: "unsafe"}
		if d.Cache == "Writeback" {
			disk.Cache = "writeback"
		}
		disk.Bandwidth, disk.Ops = rate(d.Limiter)
		g.Disks = append(g.Disks, disk)
	}
	for _, n := range v.nets {
		g.Nets = append(g.Nets, fakevmm.Net{Tap: *n.Tap, MAC: n.MAC})
	}
	if v.vsock != nil {
		g.VSock = *v.vsock.Path
	}
	return g
}

// snapshot is the state beside the guest's memory.
type snapshot struct {
	Guest  fakevmm.Guest
	Drives []drive
}

// create writes a snapshot of a guest that stands still.
func (v *vmm) create(body []byte) error {
	var c struct {
		Type     string  `json:"snapshot_type"`
		Snapshot *string `json:"snapshot_path"`
		Memory   *string `json:"mem_file_path"`
	}
	if err := first(decode(body, &c), missing("snapshot_path", c.Snapshot != nil), missing("mem_file_path", c.Memory != nil), variant(c.Type, "Full", "Diff")); err != nil {
		return err
	}
	switch {
	case v.running == nil:
		return fmt.Errorf(beforeStart)
	case v.state != "Paused":
		return fmt.Errorf("Create snapshot error: Cannot create snapshot: The microVM is not paused: operation not allowed")
	}
	state, err := json.Marshal(snapshot{v.guest, v.drives})
	if err == nil {
		err = os.WriteFile(*c.Snapshot, state, 0o600)
	}
	if err == nil {
		err = v.running.Save(context.Background(), *c.Memory)
	}
	if err != nil {
		return fmt.Errorf("Create snapshot error: %w", err)
	}
	return nil
}

// load makes a guest of a snapshot, in a fresh program.
func (v *vmm) load(body []byte) error {
	var l struct {
		Snapshot *string `json:"snapshot_path"`
		Old      *string `json:"mem_file_path"`
		Memory   *struct {
			Type string `json:"backend_type"`
			Path string `json:"backend_path"`
		} `json:"mem_backend"`
		Diff      bool              `json:"enable_diff_snapshots"`
		Track     bool              `json:"track_dirty_pages"`
		Resume    bool              `json:"resume_vm"`
		Overrides []json.RawMessage `json:"network_overrides"`
	}
	if err := first(decode(body, &l), missing("snapshot_path", l.Snapshot != nil)); err != nil {
		return err
	}
	switch {
	case (l.Old == nil) == (l.Memory == nil):
		return fmt.Errorf("missing field: either `mem_backend` or `mem_file_path` is required")
	case v.running != nil:
		return fmt.Errorf(afterStart)
	case v.configured:
		return fmt.Errorf("Load snapshot error: Loading a microVM snapshot not allowed after configuring boot-specific resources.")
	}
	path := ""
	if l.Old != nil {
		path = *l.Old
	} else if path = l.Memory.Path; l.Memory.Type != "File" {
		return variant(l.Memory.Type, "File")
	}
	var from snapshot
	state, err := os.ReadFile(*l.Snapshot)
	if err == nil {
		err = json.Unmarshal(state, &from)
	}
	v.guest, v.drives = from.Guest, from.Drives
	if err == nil {
		err = readable(path)
	}
	if err == nil {
		err = v.run(path, l.Resume)
	}
	if err != nil {
		// The real one ends after this.
		return fmt.Errorf("Load snapshot error: Failed to restore from snapshot: %w", err)
	}
	return nil
}
