package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"tare/internal/testing/fakevmm"
)

// state is the file of a snapshot that is not the guest's memory.
type state struct {
	Guest   fakevmm.Guest
	Machine machineConfig
	Boot    bootSource
	Drives  []drive
	VSock   *vsock
}

type snapshotCreate struct {
	Type     string `json:"snapshot_type" one:"Diff Full"`
	Snapshot string `json:"snapshot_path" need:"yes"`
	Memory   string `json:"mem_file_path" need:"yes"`
}

// createSnapshot saves a paused guest.
func (v *vmm) createSnapshot(c snapshotCreate) error {
	const what = "Create snapshot error: "
	switch {
	case v.running == nil:
		return errBeforeStart
	case v.state != "Paused":
		return errors.New(what + "Cannot save the microVM state: Operation not allowed: save/restore unavailable while running")
	}
	for _, file := range []struct{ name, path string }{{"snapshot", c.Snapshot}, {"memory", c.Memory}} {
		if err := openable(file.path, os.O_RDWR|os.O_CREATE); err != nil {
			return fmt.Errorf(what+"Cannot perform open on the %s backing file: %w", file.name, err)
		}
	}
	data, err := json.Marshal(state{v.guest, v.machine, v.boot, v.drives, v.vsock})
	if err == nil {
		err = os.WriteFile(c.Snapshot, data, 0o600)
	}
	if err == nil {
		err = v.running.Save(context.Background(), c.Memory)
	}
	if err != nil {
		return fmt.Errorf(what+"%w", err)
	}
	return nil
}

type snapshotLoad struct {
	Snapshot string `json:"snapshot_path" need:"yes"`
	Memory   string `json:"mem_file_path"`
	Backend  *struct {
		Path string `json:"backend_path" need:"yes"`
		Type string `json:"backend_type" need:"yes" one:"File Uffd"`
	} `json:"mem_backend"`
	Diff      bool              `json:"enable_diff_snapshots"`
	Track     bool              `json:"track_dirty_pages"`
	Resume    bool              `json:"resume_vm"`
	Overrides []json.RawMessage `json:"network_overrides"`
	VSock     json.RawMessage   `json:"vsock_override"`
	Clock     bool              `json:"clock_realtime"`
	HugePages string            `json:"huge_pages" one:"Snapshot None Transparent 2M"`
}

// loadSnapshot restores a guest, in a VMM that was not configured.
func (v *vmm) loadSnapshot(l snapshotLoad) error {
	switch {
	case l.Memory != "" && l.Backend != nil:
		return undecoded(errors.New("too many fields: either `mem_backend` or `mem_file_path` exclusively is required"))
	case l.Memory == "" && l.Backend == nil:
		return undecoded(errors.New("missing field: either `mem_backend` or `mem_file_path` is required"))
	case v.running != nil:
		return errAfterStart
	case v.configured:
		return errors.New("Load snapshot error: Loading a microVM snapshot not allowed after configuring boot-specific resources.")
	case l.Backend != nil:
		l.Memory = l.Backend.Path
	}
	if err := v.restore(l); err != nil {
		v.broken = true // Firecracker exits after this
		return fmt.Errorf("Load snapshot error: Failed to restore from snapshot: %w", err)
	}
	return nil
}

func (v *vmm) restore(l snapshotLoad) error {
	var from state
	data, err := os.ReadFile(l.Snapshot)
	if err != nil {
		return fmt.Errorf("Failed to get snapshot state from file: Failed to open snapshot file: %s", fakevmm.SystemError(err))
	}
	if err := json.Unmarshal(data, &from); err != nil {
		return err
	}
	v.guest, v.machine, v.boot, v.drives, v.vsock = from.Guest, from.Machine, from.Boot, from.Drives, from.VSock
	if err := openable(l.Memory, os.O_RDONLY); err != nil {
		return err
	}
	return v.run(l.Memory, l.Resume)
}
