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

// SnapshotFiles are the two files of a snapshot.
func (f *firecracker) SnapshotFiles() []string { return []string{stateFile, memoryFile} }

// step is one request.
type step struct {
	path string
	body any
}

// logging configures Firecracker's log and metrics. No other request may precede
// the load of a snapshot.
func (f *firecracker) logging(m *microvm.Machine) ([]step, error) {
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
	return []step{
		{"/logger", logger{Path: microvm.Log, Level: "Info", ShowLevel: true}},
		{"/metrics", metrics{Path: metricsFile}},
	}, nil
}

// definition returns the requests that configure a guest that boots.
func (f *firecracker) definition(m *microvm.Machine) []step {
	o := &f.options
	disk := func(id string, readOnly bool) step {
		return step{"/drives/" + id, drive{ID: id, Path: id, ReadOnly: readOnly, Cache: title(o.Cache), Engine: title(o.AIO), Limiter: m.Disk}}
	}
	steps := []step{
		{"/machine-config", machineConfig{CPUs: m.CPUs, Memory: int(m.Memory / quantity.MiB), SMT: o.SMT}},
		{"/boot-source", bootSource{Kernel: microvm.Kernel, Initramfs: microvm.Initramfs, Line: m.CommandLine}},
		disk(microvm.Root, !m.RootWritable), // the guest's /dev/vda
		disk(microvm.Data, false),           // and /dev/vdb
		{"/vsock", vsock{CID: microvm.GuestCID, Path: microvm.VSock}},
	}
	if m.Port != nil {
		steps = append(steps, step{"/network-interfaces/eth0", networkInterface{ID: "eth0", Tap: m.Port.Device, MAC: m.Port.MAC.String(),
			Into: o.NetLimiter(), Out: o.NetLimiter()}})
	}
	return steps
}

func put(ctx context.Context, api *microvm.API, steps []step) error {
	for _, s := range steps {
		if err := api.Put(ctx, s.path, s.body); err != nil {
			return err
		}
	}
	return nil
}

// Define configures the guest.
func (f *firecracker) Define(ctx context.Context, api *microvm.API, m *microvm.Machine) error {
	steps, err := f.logging(m)
	if err != nil {
		return err
	}
	return put(ctx, api, append(steps, f.definition(m)...))
}

// Boot runs the guest.
func (f *firecracker) Boot(ctx context.Context, api *microvm.API) error {
	return api.Put(ctx, "/actions", action{"InstanceStart"})
}

// Save pauses the guest and saves it. It stays paused.
func (f *firecracker) Save(ctx context.Context, api *microvm.API, _ *microvm.Machine) error {
	if err := f.Pause(ctx, api); err != nil {
		return err
	}
	return api.Put(ctx, "/snapshot/create", create{Type: "Full",
		Snapshot: filepath.Join(microvm.SnapshotDirectory, stateFile), Memory: filepath.Join(microvm.SnapshotDirectory, memoryFile)})
}

// Load restores a guest from a snapshot. Its disks and its vsock have the paths of
// the saved guest, which are relative to the directory in which Firecracker runs.
func (f *firecracker) Load(ctx context.Context, api *microvm.API, m *microvm.Machine) error {
	steps, err := f.logging(m)
	if err != nil {
		return err
	}
	return put(ctx, api, append(steps, step{"/snapshot/load", load{
		Snapshot: filepath.Join(microvm.SnapshotDirectory, stateFile),
		Memory:   backend{Type: "File", Path: filepath.Join(microvm.SnapshotDirectory, memoryFile)},
	}}))
}

// Pause stops the virtual CPUs.
func (f *firecracker) Pause(ctx context.Context, api *microvm.API) error {
	return api.Patch(ctx, "/vm", state{"Paused"})
}

// Resume runs a restored or paused guest.
func (f *firecracker) Resume(ctx context.Context, api *microvm.API) error {
	return api.Patch(ctx, "/vm", state{"Resumed"})
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
