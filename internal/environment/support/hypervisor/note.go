package hypervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/cleanup"
)

// prefix of the names of the VMs that tare makes.
const prefix = "tare-"

// nameOf an instance's own VM: whoever sees it in a list knows whose it is.
func nameOf(o *cleanup.Owner, instance string) string { return prefix + o.ID() + "-" + instance }

// OwnerOf is the id of the owner that made the VM of this name; "" for none of
// tare's.
func OwnerOf(name string) string {
	rest, ours := strings.CutPrefix(name, prefix)
	id, _, whole := strings.Cut(rest, "-")
	if !ours || !whole {
		return ""
	}
	return id
}

// The labels that a VM carries. Ids of two machines with the same home look
// alike, and a hypervisor may be shared by machines: so the machine is named.
const (
	OwnerLabel   = cleanup.Label
	HomeLabel    = cleanup.HomeLabel
	MachineLabel = "tare.machine"
)

// Labels of an owner of a home of this machine.
func Labels(home, id string) map[string]string {
	return map[string]string{OwnerLabel: id, HomeLabel: home, MachineLabel: Machine()}
}

// Line says what a sweep removed.
func Line(kind, name string) string { return fmt.Sprintf("virtual machine %s of %s", name, kind) }

// Machine is a name of this machine that no other has.
func Machine() string {
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(strings.TrimSpace(string(id))) > 0 {
		return strings.TrimSpace(string(id))
	}
	name, _ := os.Hostname()
	return name
}

// note is what is written down before a VM is made or taken: where it will be,
// and what it will be. Notes are kept beside the owners' folders, since a VM may
// be out of reach when its owner's other things are cleared away.
type note struct {
	VM VM  `json:"vm"`
	At any `json:"at"` // the backend's way back to its hypervisor, without secrets
}

// notes is their folder in a home.
const notes = "vms"

// write returns the note's file.
func (n note) write(home, kind, instance string) (string, error) {
	file := filepath.Join(home, notes, kind+"-"+n.VM.Labels[OwnerLabel]+"-"+instance+".json")
	text, err := json.Marshal(n)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("noting down virtual machine %s, for a later clean-up: %w", n.VM.Name, err)
	}
	return file, nil
}

// Sweep ends the VMs that dead owners of a home noted down. open makes the way
// back to a hypervisor from what the note says of it. A note stays as long as
// its VM may.
func Sweep(ctx context.Context, kind, home string, dead func(string) bool, open func(ctx context.Context, at json.RawMessage) (Hypervisor, func(), error)) ([]string, error) {
	files, err := os.ReadDir(filepath.Join(home, notes))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	problems := []error{err}
	var removed []string
	for _, f := range files {
		rest, ours := strings.CutPrefix(f.Name(), kind+"-")
		id, _, whole := strings.Cut(rest, "-")
		if !ours || !whole || !dead(id) {
			continue
		}
		file := filepath.Join(home, notes, f.Name())
		var n struct {
			VM VM              `json:"vm"`
			At json.RawMessage `json:"at"`
		}
		text, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(text, &n) != nil {
			os.Remove(file) // it was torn before anything was made
			continue
		}
		line := ""
		if err == nil {
			line, err = sweepOne(ctx, kind, n.VM, func() (Hypervisor, func(), error) { return open(ctx, n.At) })
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("ending virtual machine %s of %s, which a dead tare left: %w; if it is gone, delete %s", n.VM.Name, kind, err, file))
			continue
		}
		if line != "" {
			removed = append(removed, line)
		}
		os.Remove(file)
	}
	return removed, errors.Join(problems...)
}

func sweepOne(ctx context.Context, kind string, v VM, open func() (Hypervisor, func(), error)) (string, error) {
	h, shut, err := open()
	if err != nil {
		return "", err
	}
	defer shut()
	if err := End(ctx, h, v); errors.Is(err, ErrNone) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return Line(kind, v.Name), nil
}
