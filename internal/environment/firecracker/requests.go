package firecracker

import (
	"context"
	"os"
	"path/filepath"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/microvm"
)

// The bodies of Firecracker's requests, with the fields that are used here.
// Firecracker rejects unknown fields.
type (
	logger struct {
		Path      string `json:"log_path"`
		Level     string `json:"level"`
		ShowLevel bool   `json:"show_level"`
	}
	metrics struct {
		Path string `json:"metrics_path"`
	}
	machineConfig struct {
		CPUs   int  `json:"vcpu_count"`
		Memory int  `json:"mem_size_mib"`
		SMT    bool `json:"smt"`
	}
	bootSource struct {
		Kernel    string `json:"kernel_image_path"`
		Initramfs string `json:"initrd_path"`
		Line      string `json:"boot_args"`
	}
	drive struct {
		ID       string           `json:"drive_id"`
		Path     string           `json:"path_on_host"`
		Root     bool             `json:"is_root_device"` // false: the initramfs mounts it
		ReadOnly bool             `json:"is_read_only"`
		Cache    string           `json:"cache_type"`
		Engine   string           `json:"io_engine"`
		Limiter  *microvm.Limiter `json:"rate_limiter,omitempty"`
	}
	networkInterface struct {
		ID   string           `json:"iface_id"`
		Tap  string           `json:"host_dev_name"`
		MAC  string           `json:"guest_mac"`
		Into *microvm.Limiter `json:"rx_rate_limiter,omitempty"`
		Out  *microvm.Limiter `json:"tx_rate_limiter,omitempty"`
	}
	vsock struct {
		CID  int    `json:"guest_cid"`
		Path string `json:"uds_path"`
	}
	action struct {
		Type string `json:"action_type"`
	}
	state struct {
		State string `json:"state"`
	}
	create struct {
		Type     string `json:"snapshot_type"`
		Snapshot string `json:"snapshot_path"`
		Memory   string `json:"mem_file_path"`
	}
	backend struct {
		Type string `json:"backend_type"`
		Path string `json:"backend_path"`
	}
	load struct {
		Snapshot string  `json:"snapshot_path"`
		Memory   backend `json:"mem_backend"`
		Resume   bool    `json:"resume_vm"`
	}
)

// The files that only Firecracker has.
const (
	metricsFile = "metrics"
	stateFile   = "state"
	memoryFile  = "memory"
)

// logging configures Firecracker's log and metrics. No other request may precede
// the load of a snapshot.
func (f *firecracker) logging(m *microvm.Machine) ([]microvm.Request, error) {
	for _, name := range []string{microvm.Log, metricsFile} {
		path := filepath.Join(m.Directory, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return nil, err
		}
		if m.User != 0 {
			if err := os.Chown(path, m.User, m.User); err != nil {
				return nil, err
			}
		}
	}
	return []microvm.Request{
		microvm.Put("/logger", logger{Path: microvm.Log, Level: "Info", ShowLevel: true}),
		microvm.Put("/metrics", metrics{Path: metricsFile}),
	}, nil
}

// definition returns the requests that configure a guest that boots.
func (f *firecracker) definition(m *microvm.Machine) []microvm.Request {
	o := &f.options
	disk := func(id string, readOnly bool) microvm.Request {
		return microvm.Put("/drives/"+id, drive{ID: id, Path: id, ReadOnly: readOnly, Cache: title(o.Cache), Engine: title(o.AIO), Limiter: m.Disk})
	}
	steps := []microvm.Request{
		microvm.Put("/machine-config", machineConfig{CPUs: m.CPUs, Memory: int(m.Memory / quantity.MiB), SMT: o.SMT}),
		microvm.Put("/boot-source", bootSource{Kernel: microvm.Kernel, Initramfs: microvm.Initramfs, Line: m.CommandLine}),
		disk(microvm.Root, !m.RootWritable), // the guest's /dev/vda
		disk(microvm.Data, false),           // and /dev/vdb
		microvm.Put("/vsock", vsock{CID: microvm.GuestCID, Path: microvm.VSock}),
	}
	if m.Port != nil {
		steps = append(steps, microvm.Put("/network-interfaces/eth0", networkInterface{ID: "eth0", Tap: m.Port.Device, MAC: m.Port.MAC.String(),
			Into: o.NetLimiter(), Out: o.NetLimiter()}))
	}
	return steps
}

// Define configures the guest.
func (f *firecracker) Define(m *microvm.Machine) ([]microvm.Request, error) {
	steps, err := f.logging(m)
	return append(steps, f.definition(m)...), err
}

// Save saves a paused guest.
func (f *firecracker) Save(*microvm.Machine) microvm.Request {
	return microvm.Put("/snapshot/create", create{Type: "Full",
		Snapshot: filepath.Join(microvm.SnapshotDirectory, stateFile), Memory: filepath.Join(microvm.SnapshotDirectory, memoryFile)})
}

// Load restores a guest from a snapshot. Its disks and its vsock have the paths of
// the saved guest, which are relative to the directory in which Firecracker runs.
func (f *firecracker) Load(m *microvm.Machine) ([]microvm.Request, error) {
	steps, err := f.logging(m)
	return append(steps, microvm.Put("/snapshot/load", load{
		Snapshot: filepath.Join(microvm.SnapshotDirectory, stateFile),
		Memory:   backend{Type: "File", Path: filepath.Join(microvm.SnapshotDirectory, memoryFile)},
	})), err
}

// Limiters returns the limiters of the drives that Firecracker reports.
func (f *firecracker) Limiters(ctx context.Context, api *microvm.API) (list []*microvm.Limiter, err error) {
	var has struct {
		Drives []drive `json:"drives"`
	}
	err = api.Get(ctx, "/vm/config", &has)
	for _, d := range has.Drives {
		list = append(list, d.Limiter)
	}
	return list, err
}
