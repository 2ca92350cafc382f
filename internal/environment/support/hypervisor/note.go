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

	"tare/internal/host/cleanup"
	"tare/internal/linux/private"
)

// prefix of the names of the VMs that tare makes.
const prefix = "tare-"

// nameOf returns the name of an instance's clone, which includes the owner.
func nameOf(o *cleanup.Owner, instance string) string { return prefix + o.ID() + "-" + instance }

// OwnerOf returns the ID of the owner that created the VM of this name; "" if it is
// not a VM of tare.
func OwnerOf(name string) string {
	rest, ours := strings.CutPrefix(name, prefix)
	id, _, whole := strings.Cut(rest, "-")
	if !ours || !whole {
		return ""
	}
	return id
}

// The labels of a VM. They include the machine, since several machines may share a
// hypervisor, and owner IDs are unique only within a home.
const (
	OwnerLabel   = cleanup.Label
	HomeLabel    = cleanup.HomeLabel
	MachineLabel = "tare.machine"
)

// Labels returns the labels for an owner of a home on this machine.
func Labels(home, id string) map[string]string {
	return map[string]string{OwnerLabel: id, HomeLabel: home, MachineLabel: Machine()}
}

// Line is the output of a sweep for a removed VM.
func Line(kind, name string) string { return fmt.Sprintf("virtual machine %s of %s", name, kind) }

// Machine returns a unique name of this machine.
func Machine() string {
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(strings.TrimSpace(string(id))) > 0 {
		return strings.TrimSpace(string(id))
	}
	name, _ := os.Hostname()
	return name
}

// note is a file that is written before a VM is created or used, for the sweep after
// a kill. Notes are stored outside the owners' directories, since the hypervisor may
// be unreachable when a dead owner's other resources are removed.
type note struct {
	VM VM  `json:"vm"`
	At any `json:"at"` // how the backend connects to its hypervisor, without secrets
}

// notes is the directory of the notes in a home.
const notes = "vms"

// write writes the note and returns its file.
func (n note) write(home, kind, instance string) (string, error) {
	file := filepath.Join(home, notes, kind+"-"+n.VM.Labels[OwnerLabel]+"-"+instance+".json")
	text, err := json.Marshal(n)
	if err == nil {
		err = private.Directory(filepath.Dir(file))
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("writing the note of virtual machine %s for tare clean: %w", n.VM.Name, err)
	}
	return file, nil
}

// Sweep removes or releases the VMs that dead owners of a home have notes of. open
// connects to a hypervisor by the At of a note. A note is kept until its VM is
// known to be gone.
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
			os.Remove(file) // incomplete: the owner died before it created a VM
			continue
		}
		line := ""
		if err == nil {
			line, err = sweepOne(ctx, kind, n.VM, func() (Hypervisor, func(), error) { return open(ctx, n.At) })
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("removing virtual machine %s of %s, which a dead tare process left: %w; if it no longer exists, delete %s", n.VM.Name, kind, err, file))
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
