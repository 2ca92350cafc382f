// Package hypervisor implements the lifecycle of an instance under a hypervisor
// with a command line or an API: a VM is cloned from a template, or the template
// itself is used; it is sized, started, reached over SSH, powered off, and deleted
// or restored. VMs that a killed tare left are found again. A technology is a
// thin backend: it implements Hypervisor.
//
// It must not know any hypervisor, nor workloads, studies or statistics.
package hypervisor

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/base/quantity"
)

// VM is the virtual machine of one instance. It has everything that a sweep needs,
// and is stored in a note.
type VM struct {
	// Name is unique in the modes linked and clone, else the template's.
	Name     string `json:"name"`
	Template string `json:"template"`
	Snapshot string `json:"snapshot,omitempty"`
	Mode     string `json:"mode"`
	// Labels are set on the VM while tare uses it.
	Labels map[string]string `json:"labels"`
}

// Own reports whether the VM was made for the instance and is deleted with it.
func (v VM) Own() bool { return v.Mode == Linked || v.Mode == Clone }

// State of a VM, as the hypervisor reports it.
type State struct {
	On     bool // anything but powered off
	Word   string
	CPUs   int
	Memory quantity.Bytes
	Labels map[string]string // tare's only
	// Bound is the hypervisor's limit of the VM's CPUs; nil if the cgroup of a
	// process on this machine limits them.
	Bound *Bound
}

// Bound is a limit of a VM's CPUs.
type Bound struct {
	CPUs  float64 // total CPU time per second
	Cores []int   // affinity; nil for all
}

// Size of a VM. Zeros leave it unchanged.
type Size struct {
	CPUs   int
	Memory quantity.Bytes
	Quota  float64 // CPU time per second of all virtual CPUs
	Cores  []int   // the host's cores that it may use
}

// Hypervisor makes, runs and ends VMs. Each error names the operation, the VM and
// the hypervisor's answer.
type Hypervisor interface {
	// State of the VM of this name; ErrNone is in the error where there is none.
	State(ctx context.Context, name string) (State, error)
	// Clone makes v from its template, linked or with a copy of the disk. It
	// has the labels from its creation if the hypervisor supports that.
	Clone(ctx context.Context, v VM) error
	// Restore reverts a powered-off VM to its snapshot.
	Restore(ctx context.Context, v VM) error
	// Label sets labels; an empty value removes one.
	Label(ctx context.Context, v VM, labels map[string]string) error
	// Resize sets the size of a powered-off VM. What is not possible is a note.
	Resize(ctx context.Context, v VM, s Size) (notes []string, err error)
	// PowerOn returns when the VM runs; the guest is still booting. reach waits until the
	// address of the guest's port is known, and returns it as "address:port".
	PowerOn(ctx context.Context, v VM, port int) (reach func(context.Context) (string, error), err error)
	// PowerOff ends a VM without a shutdown and undoes what PowerOn changed. A VM
	// that is off stays off.
	PowerOff(ctx context.Context, v VM) error
	// Delete removes a powered-off VM with its disks.
	Delete(ctx context.Context, v VM) error
}

// ErrNone is the error if there is no such VM, or tare does not own it any more.
var ErrNone = errors.New("no such virtual machine")

// prepare clones the template, or reserves it for the instance.
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
		return fmt.Errorf("virtual machine %s is in use by tare's owner %s: mode: %s runs one instance at a time; use mode: linked or clone, or run tare clean if that owner is dead", v.Name, s.Labels[OwnerLabel], v.Mode)
	case s.On:
		return fmt.Errorf("virtual machine %s is %s: mode: %s requires one that is powered off", v.Name, s.Word, v.Mode)
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
	return h.Label(ctx, v, v.Labels) // the snapshot may lack them
}

// End powers a VM off and deletes it, or restores the template. ErrNone is in the
// error if there was no VM of tare's.
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

// is reports whether a VM of this state is v: it has its labels, or only its name
// if the start was interrupted before the labels were set.
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

// none removes labels.
func none(labels map[string]string) map[string]string {
	off := map[string]string{}
	for key := range labels {
		off[key] = ""
	}
	return off
}
