package main

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"tare/internal/base/quantity"
	"tare/internal/linux/cgroup"
	"tare/internal/testing/sshguest"
)

// guests are the fake guests of the VMs that are on, by the VM's reference.
type guests struct {
	*sshguest.Bridged
	simulator *simulator.Context
}

// await waits for the end of a task.
func (g *guests) await(task string) {
	if t, there := g.simulator.Map.Get(types.ManagedObjectReference{Type: "Task", Value: task}).(*simulator.Task); there {
		t.Wait()
	}
}

// follow starts or stops a guest to match the simulator's state of the VM.
func (g *guests) follow(asked, vm string) error {
	m, there := g.simulator.Map.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: vm}).(*simulator.VirtualMachine)
	on := there && m.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
	switch {
	case asked == "PowerOnVM_Task" && on && !g.On(vm):
		address, _, err := g.Boot(vm, m.Config.Uuid, g.limits(m))
		if err != nil {
			return err
		}
		g.simulator.Map.WithLock(g.simulator, m, func() { m.Guest.IpAddress = address })
	case !on && g.On(vm):
		if there {
			g.simulator.Map.WithLock(g.simulator, m, func() { m.Guest.IpAddress = "" })
		}
		return g.End(vm)
	}
	return nil
}

// limits are the size of a VM. The simulator's own VMs have 32 MiB.
func (g *guests) limits(m *simulator.VirtualMachine) cgroup.Limits {
	config := m.Config
	limits := cgroup.Limits{Memory: quantity.Bytes(config.Hardware.MemoryMB) * quantity.MiB, CPUs: float64(config.Hardware.NumCPU)}
	if a := config.CpuAffinity; a != nil {
		for _, core := range a.AffinitySet {
			limits.Cores = append(limits.Cores, int(core))
		}
	}
	if a := config.CpuAllocation; a != nil && a.Limit != nil && *a.Limit > 0 {
		host := g.simulator.Map.Get(*m.Runtime.Host).(*simulator.HostSystem)
		limits.CPUs = float64(*a.Limit) / float64(host.Summary.Hardware.CpuMhz)
	}
	return limits
}
