package vsphere

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/hypervisor"
)

// sphere implements hypervisor.Hypervisor for vSphere, with a separate session.
type sphere struct {
	center  *center
	options Options
}

func newSphere(o Options) *sphere { return &sphere{center: &center{access: o.Access}, options: o} }

// way is what a note needs to reach the VM again.
type way struct {
	Access
	Folder string `json:"folder,omitempty"`
}

func (s *sphere) way() way { return way{s.options.Access, s.options.Folder} }

func (s *sphere) vm(ctx context.Context, name string) (*object.VirtualMachine, error) {
	return s.center.vm(ctx, s.options.Folder, name)
}

// State returns the state of a VM.
func (s *sphere) State(ctx context.Context, name string) (state hypervisor.State, err error) {
	vm, err := s.vm(ctx, name)
	if err != nil {
		return state, err
	}
	all, err := s.center.about(ctx, vm)
	if gone(err) {
		return state, fmt.Errorf("%w: %w", hypervisor.ErrNone, err)
	} else if err != nil {
		return state, err
	}
	state = hypervisor.State{
		Word: string(all.Runtime.PowerState), On: all.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff,
		Labels: map[string]string{},
	}
	if all.Config == nil {
		return state, nil // it is being created
	}
	state.CPUs = int(all.Config.Hardware.NumCPU)
	state.Memory = quantity.Bytes(all.Config.Hardware.MemoryMB) * quantity.MiB
	state.Bound = &hypervisor.Bound{CPUs: float64(state.CPUs)}
	if a := all.Config.CpuAffinity; a != nil {
		for _, core := range a.AffinitySet {
			state.Bound.Cores = append(state.Bound.Cores, int(core))
		}
	}
	if a := all.Config.CpuAllocation; a != nil && a.Limit != nil && *a.Limit > 0 {
		mhz, err := mhz(ctx, vm, all)
		if err != nil {
			return state, err
		}
		state.Bound.CPUs = min(state.Bound.CPUs, float64(*a.Limit)/mhz)
	}
	for _, option := range all.Config.ExtraConfig {
		o := option.GetOptionValue()
		switch value, _ := o.Value.(string); o.Key {
		case hypervisor.OwnerLabel, hypervisor.HomeLabel, hypervisor.MachineLabel:
			state.Labels[o.Key] = value
			if value == "" {
				delete(state.Labels, o.Key)
			}
		}
	}
	return state, nil
}

// Clone creates a VM, with its labels from the start.
func (s *sphere) Clone(ctx context.Context, v hypervisor.VM) error {
	template, err := s.vm(ctx, v.Template)
	if err != nil {
		return err
	}
	all, err := s.center.about(ctx, template)
	if err != nil {
		return err
	}
	spec, err := s.cloneSpec(ctx, all)
	if err != nil {
		return err
	}
	if spec.Snapshot, err = s.snapshot(ctx, v, template, all); err != nil {
		return err
	}
	if v.Mode == hypervisor.Linked {
		spec.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
	}
	spec.Config = &types.VirtualMachineConfigSpec{ExtraConfig: extra(v.Labels)}
	folder, err := s.center.finder.FolderOrDefault(ctx, s.options.Folder)
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	task, err := template.Clone(ctx, folder, path.Base(v.Name), spec)
	err = finish(ctx, fmt.Sprintf("cloning virtual machine %s as %s", v.Template, v.Name), task, err)
	return err
}

// cloneSpec returns the location of a clone: resource pool, datastore and host.
func (s *sphere) cloneSpec(ctx context.Context, template mo.VirtualMachine) (spec types.VirtualMachineCloneSpec, err error) {
	o, finder := s.options, s.center.finder
	if o.ResourcePool != "" || template.ResourcePool == nil { // a VM that is marked as template has none
		pool, err := finder.ResourcePoolOrDefault(ctx, o.ResourcePool)
		if err != nil {
			return spec, fmt.Errorf("resource_pool: %w", err)
		}
		ref := pool.Reference()
		spec.Location.Pool = &ref
	}
	if o.Datastore != "" {
		store, err := finder.Datastore(ctx, o.Datastore)
		if err != nil {
			return spec, fmt.Errorf("datastore: %w", err)
		}
		ref := store.Reference()
		spec.Location.Datastore = &ref
	}
	if o.ESXiHost != "" {
		host, err := finder.HostSystem(ctx, o.ESXiHost)
		if err != nil {
			return spec, fmt.Errorf("esxi_host: %w", err)
		}
		ref := host.Reference()
		spec.Location.Host = &ref
	}
	return spec, nil
}

// snapshot returns the snapshot to clone; nil for the current state.
func (s *sphere) snapshot(ctx context.Context, v hypervisor.VM, template *object.VirtualMachine, all mo.VirtualMachine) (*types.ManagedObjectReference, error) {
	if v.Snapshot != "" {
		found, err := template.FindSnapshot(ctx, v.Snapshot)
		if err != nil {
			return nil, fmt.Errorf("virtual machine %s: snapshot: %w", v.Template, err)
		}
		return found, nil
	}
	if v.Mode != hypervisor.Linked {
		return nil, nil
	}
	if all.Snapshot == nil || all.Snapshot.CurrentSnapshot == nil {
		return nil, fmt.Errorf("virtual machine %s has no snapshot for a linked clone; take one, or use mode: clone", v.Template)
	}
	return all.Snapshot.CurrentSnapshot, nil
}

func extra(labels map[string]string) (list []types.BaseOptionValue) {
	for key, value := range labels {
		list = append(list, &types.OptionValue{Key: key, Value: value})
	}
	return list
}

// Restore reverts a VM to its snapshot, powered off.
func (s *sphere) Restore(ctx context.Context, v hypervisor.VM) error {
	vm, err := s.vm(ctx, v.Name)
	if err != nil {
		return err
	}
	const stayOff = true
	var task *object.Task
	if v.Snapshot == "" {
		task, err = vm.RevertToCurrentSnapshot(ctx, stayOff)
	} else {
		task, err = vm.RevertToSnapshot(ctx, v.Snapshot, stayOff)
	}
	err = finish(ctx, fmt.Sprintf("reverting virtual machine %s to its snapshot %s", v.Name, v.Snapshot), task, err)
	return err
}

// Label writes labels to the VM's extra configuration.
func (s *sphere) Label(ctx context.Context, v hypervisor.VM, labels map[string]string) error {
	return s.reconfigure(ctx, v, "labelling", types.VirtualMachineConfigSpec{ExtraConfig: extra(labels)})
}

func (s *sphere) reconfigure(ctx context.Context, v hypervisor.VM, what string, spec types.VirtualMachineConfigSpec) error {
	vm, err := s.vm(ctx, v.Name)
	if err != nil {
		return err
	}
	task, err := vm.Reconfigure(ctx, spec)
	err = finish(ctx, what+" virtual machine "+v.Name, task, err)
	return err
}

// Resize sets CPUs, memory, the CPU limit and the CPU affinity.
func (s *sphere) Resize(ctx context.Context, v hypervisor.VM, size hypervisor.Size) (notes []string, err error) {
	spec := types.VirtualMachineConfigSpec{NumCPUs: int32(size.CPUs), MemoryMB: int64(size.Memory / quantity.MiB)}
	if size.Quota > 0 && size.Quota < float64(size.CPUs) {
		vm, err := s.vm(ctx, v.Name)
		if err != nil {
			return nil, err
		}
		all, err := s.center.about(ctx, vm)
		if err != nil {
			return nil, err
		}
		speed, err := mhz(ctx, vm, all)
		if err != nil {
			return nil, err
		}
		limit := int64(size.Quota * speed)
		spec.CpuAllocation = &types.ResourceAllocationInfo{Limit: &limit}
	}
	if err := s.reconfigure(ctx, v, "resizing", spec); err != nil {
		return notes, err
	}
	if len(size.Cores) == 0 {
		return notes, nil
	}
	affinity := types.VirtualMachineConfigSpec{CpuAffinity: &types.VirtualMachineAffinityInfo{}}
	for _, core := range size.Cores {
		affinity.CpuAffinity.AffinitySet = append(affinity.CpuAffinity.AffinitySet, int32(core))
	}
	if err := s.reconfigure(ctx, v, "pinning", affinity); err != nil {
		notes = append(notes, fmt.Sprintf("the VM could not be pinned to the cores %v: %v (not possible in a cluster with automatic load balancing)", size.Cores, err))
	}
	return notes, nil
}

// mhz returns the core frequency of the host that a VM is on.
func mhz(ctx context.Context, vm *object.VirtualMachine, all mo.VirtualMachine) (float64, error) {
	if all.Runtime.Host == nil {
		return 0, fmt.Errorf("virtual machine %s is not on a host yet", vm.InventoryPath)
	}
	var host mo.HostSystem
	if err := vm.Properties(ctx, *all.Runtime.Host, []string{"summary.hardware"}, &host); err != nil {
		return 0, fmt.Errorf("reading the core frequency of the host of virtual machine %s: %w", vm.InventoryPath, err)
	}
	if host.Summary.Hardware == nil || host.Summary.Hardware.CpuMhz <= 0 {
		return 0, fmt.Errorf("the host of virtual machine %s does not report its core frequency", vm.InventoryPath)
	}
	return float64(host.Summary.Hardware.CpuMhz), nil
}

// PowerOn starts the VM. Its address is what VMware Tools report.
func (s *sphere) PowerOn(ctx context.Context, v hypervisor.VM, port int) (func(context.Context) (string, error), error) {
	vm, err := s.vm(ctx, v.Name)
	if err != nil {
		return nil, err
	}
	task, err := vm.PowerOn(ctx)
	err = finish(ctx, "powering virtual machine "+v.Name+" on", task, err)
	return func(ctx context.Context) (string, error) { return s.reach(ctx, v, vm, port) }, err
}

// pace is the interval of polling for the address that VMware Tools report.
const pace = 250 * time.Millisecond

func (s *sphere) reach(ctx context.Context, v hypervisor.VM, vm *object.VirtualMachine, port int) (string, error) {
	for {
		all, err := s.center.about(ctx, vm)
		if err != nil {
			return "", err
		}
		if address := addressOf(all); address != "" {
			return net.JoinHostPort(address, strconv.Itoa(port)), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("virtual machine %s did not report its IPv4 address; install VMware Tools (open-vm-tools) in the template: %w", v.Name, context.Cause(ctx))
		case <-time.After(pace):
		}
	}
}

func addressOf(vm mo.VirtualMachine) string {
	if vm.Guest == nil {
		return ""
	}
	reported := []string{vm.Guest.IpAddress}
	for _, card := range vm.Guest.Net {
		reported = append(reported, card.IpAddress...)
	}
	for _, text := range reported {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() && !a.IsUnspecified() && !a.IsLinkLocalUnicast() {
			return text
		}
	}
	return ""
}

// PowerOff switches the VM off without a shutdown.
func (s *sphere) PowerOff(ctx context.Context, v hypervisor.VM) error {
	state, err := s.State(ctx, v.Name)
	if err != nil || !state.On {
		return err
	}
	vm, err := s.vm(ctx, v.Name)
	if err != nil {
		return err
	}
	task, err := vm.PowerOff(ctx)
	if err = finish(ctx, "powering virtual machine "+v.Name+" off", task, err); err == nil {
		return nil
	}
	if state, again := s.State(ctx, v.Name); again == nil && !state.On {
		return nil // it was switched off meanwhile
	}
	return err
}

// Delete removes the VM with its disks.
func (s *sphere) Delete(ctx context.Context, v hypervisor.VM) error {
	vm, err := s.vm(ctx, v.Name)
	if err != nil {
		return err
	}
	task, err := vm.Destroy(ctx)
	err = finish(ctx, "deleting virtual machine "+v.Name, task, err)
	if gone(err) {
		return nil
	}
	return err
}

// version returns the full product name and version of the server.
func (s *sphere) version(ctx context.Context) (string, error) {
	if _, err := s.center.open(ctx); err != nil {
		return "", err
	}
	about := s.center.client.ServiceContent.About
	return strings.TrimSpace(about.FullName), nil
}
