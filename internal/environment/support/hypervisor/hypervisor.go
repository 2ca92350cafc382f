// Package hypervisor is the life that an instance has under every hypervisor
// with a command line or an API of its own: a VM is cloned from a template or
// the template is taken, sized, started, waited for over SSH, powered off, and
// deleted or put back; and what a killed tare left of it is found again. A
// technology is a thin backend: it implements Hypervisor.
//
// It must not know any hypervisor, nor workloads, studies or statistics.
package hypervisor

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/quantity"
)

// VM is the virtual machine of one instance. It is all that a sweep has to know
// of it, so it is what a note keeps.
type VM struct {
	// Name is its own in the modes linked and clone, else the template's.
	Name     string `json:"name"`
	Template string `json:"template"`
	Snapshot string `json:"snapshot,omitempty"`
	Mode     string `json:"mode"`
	// Labels stand on the VM as long as it is tare's.
	Labels map[string]string `json:"labels"`
}

// Own says whether the VM was made for the instance and is deleted at its end.
func (v VM) Own() bool { return v.Mode == Linked || v.Mode == Clone }

// State is what a hypervisor says of a VM.
type State struct {
	On     bool // anything but powered off
	Word   string
	CPUs   int
	Memory quantity.Bytes
	Labels map[string]string // those of tare's
	// Bound is what the hypervisor holds the VM's CPUs to; nil where that is done
	// by the group of a process on this machine.
	Bound *Bound
}

// Bound of a VM's CPUs.
type Bound struct {
	CPUs  float64 // that all together may take
	Cores []int   // that they may run on; nil for all
}

// Size is what a VM shall have. Zeros are what it has already.
type Size struct {
	CPUs   int
	Memory quantity.Bytes
	Quota  float64 // cores that all its virtual CPUs may take together
	Cores  []int   // the host's cores that it may use
}

// Hypervisor makes, runs and ends VMs. Each error names what was tried on which
// VM and what came back.
type Hypervisor interface {
	// State of the VM of this name; ErrNone is in the error where there is none.
	State(ctx context.Context, name string) (State, error)
	// Clone makes v from its template, linked or with a copy of the disk. It
	// bears the labels from its beginning, where the hypervisor can do that.
	Clone(ctx context.Context, v VM) error
	// Restore puts a VM that is off back to its snapshot.
	Restore(ctx context.Context, v VM) error
	// Label puts labels on; an empty value takes one off.
	Label(ctx context.Context, v VM, labels map[string]string) error
	// Resize gives a VM that is off its size. What is not possible is a note.
	Resize(ctx context.Context, v VM, s Size) (notes []string, err error)
	// PowerOn returns when the VM runs, and its guest's port can be asked for;
	// the guest is still booting.
	PowerOn(ctx context.Context, v VM, port int) error
	// Reach waits until it is known where the guest's port is reached from here,
	// and says it as "address:port".
	Reach(ctx context.Context, v VM, port int) (string, error)
	// PowerOff ends a VM at once, like pulling its plug, and takes back what
	// PowerOn changed. One that is off stays so.
	PowerOff(ctx context.Context, v VM) error
	// Delete removes a VM that is off, with its disks.
	Delete(ctx context.Context, v VM) error
}

// ErrNone says that there is no such VM, or that it is not tare's any more.
var ErrNone = errors.New("no such virtual machine")

// prepare clones the template, or takes it for the instance.
func prepare(ctx context.Context, h Hypervisor, v VM) error {
	if v.Own() {
		if err := h.Clone(ctx, v); err != nil {
			return err
		}
		return h.Label(ctx, v, v.Labels)
	}
	s, err := h.State(ctx, v.Name)
	switch {
	case err != nil:
		return err
	case s.Labels[OwnerLabel] != "":
		return fmt.Errorf("virtual machine %s is taken by tare's owner %s: mode: %s runs one instance at a time; use mode: linked or clone, and tare clean if that owner is dead", v.Name, s.Labels[OwnerLabel], v.Mode)
	case s.On:
		return fmt.Errorf("virtual machine %s is %s: mode: %s takes only one that is powered off", v.Name, s.Word, v.Mode)
	}
	if err := h.Label(ctx, v, v.Labels); err != nil {
		return err
	}
	if v.Mode != Restore {
		return nil
	}
	if err := h.Restore(ctx, v); err != nil {
		return errors.Join(err, h.Label(context.WithoutCancel(ctx), v, none(v.Labels)))
	}
	return h.Label(ctx, v, v.Labels) // the snapshot may be without them
}

// End powers a VM off and deletes it, or puts the template back. ErrNone is in
// the error where there was nothing of tare's to end.
func End(ctx context.Context, h Hypervisor, v VM) error {
	s, err := h.State(ctx, v.Name)
	if err != nil {
		return err
	}
	if !v.is(s) {
		return fmt.Errorf("virtual machine %s does not carry this owner's labels: %w", v.Name, ErrNone)
	}
	if err := h.PowerOff(ctx, v); err != nil {
		return err
	}
	if v.Own() {
		return h.Delete(ctx, v)
	}
	if v.Mode == Restore {
		if err := h.Restore(ctx, v); err != nil {
			return err
		}
	}
	return h.Label(ctx, v, none(v.Labels))
}

// is says whether a VM of this state is v: it carries its labels; or its name
// alone where a start was cut off before the labels were put on.
func (v VM) is(s State) bool {
	if len(s.Labels) == 0 {
		return v.Own() && OwnerOf(v.Name) == v.Labels[OwnerLabel]
	}
	for key, value := range v.Labels {
		if s.Labels[key] != value {
			return false
		}
	}
	return true
}

// none takes labels off.
func none(labels map[string]string) map[string]string {
	off := map[string]string{}
	for key := range labels {
		off[key] = ""
	}
	return off
}
