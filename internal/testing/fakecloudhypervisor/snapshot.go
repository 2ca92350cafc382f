package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"tare/internal/testing/fakevmm"
)

// snapshotDir returns the directory of a snapshot's URL. It is opened, since QEMU
// passes the path to a shell.
func snapshotDir(url string) (dir *os.File, path, name string, err error) {
	const what = "Failed to send migratable component snapshot"
	name, ok := strings.CutPrefix(url, "file://")
	if !ok {
		return nil, "", "", causes{what, "Could not extract path from URL: " + url}
	}
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return nil, "", "", causes{what, fmt.Sprintf("Destination is not a directory: %q", name)}
	}
	if dir, err = os.Open(name); err != nil {
		return nil, "", "", err
	}
	return dir, fmt.Sprintf("/proc/%d/fd/%d/", os.Getpid(), dir.Fd()), name, nil
}

// files are those of a snapshot, beside the guest's memory.
func (h *hypervisor) files() map[string]any {
	return map[string]any{"config.json": &h.config, "state.json": &h.guest}
}

const memoryFile = "memory-ranges"

func (h *hypervisor) snapshot(ctx context.Context, body []byte) error {
	const what = "The VM could not be snapshotted"
	var s struct {
		To string `json:"destination_url" need:"yes"`
	}
	if err := decode(body, &s); err != nil {
		return err
	}
	switch {
	case !h.built:
		return failed(what, "VM is not running")
	case h.state != "Paused":
		return failed(what, "Cannot snapshot VM", "Failed to snapshot migratable component", "Trying to snapshot while VM is running")
	}
	h.event("vm", "snapshotting")
	dir, path, _, err := snapshotDir(s.To)
	if err != nil {
		return failedBy(what, append(causes{"Cannot send VM snapshot"}, err.(causes)...))
	}
	defer dir.Close()
	for name, value := range h.files() {
		data, err := json.Marshal(value)
		if err == nil {
			err = os.WriteFile(path+name, data, 0o600)
		}
		if err != nil {
			return failed(what, err.Error())
		}
	}
	defer h.event("vm", "snapshotted")
	return h.running.Save(ctx, path+memoryFile)
}

func (h *hypervisor) restore(ctx context.Context, body []byte) error {
	const what, reading = "The VM could not be restored", "Failed to receive migratable component snapshot"
	var r struct {
		From     string `json:"source_url" need:"yes"`
		Prefault bool   `json:"prefault"`
		Mode     string `json:"memory_restore_mode"`
		Resume   bool   `json:"resume"`
	}
	if err := decode(body, &r); err != nil {
		return err
	}
	if h.config != nil {
		return failed(what, "VM is already created")
	}
	dir, path, name, err := snapshotDir(r.From)
	if err != nil {
		return failedBy(what, append(causes{"Cannot restore VM"}, err.(causes)...))
	}
	defer dir.Close()
	if _, err := os.Stat(path + "config.json"); err != nil {
		return failed(what, "Cannot restore VM", reading, fmt.Sprintf("Error opening VM config snapshot file %q", name+"/config.json"), fakevmm.SystemError(err))
	}
	h.event("vm", "restoring")
	for name, into := range h.files() {
		data, err := os.ReadFile(path + name)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			return failed(what, err.Error())
		}
	}
	if err := h.run(path + memoryFile); err != nil {
		return failed(what, err.Error())
	}
	h.built, h.state = true, "Paused"
	h.event("vm", "restored")
	if r.Resume {
		h.state = "Running"
		return h.running.Resume(ctx)
	}
	return nil
}
