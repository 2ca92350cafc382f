package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"tare/internal/linux/cgroup"
	"tare/internal/linux/virtnet"
	"tare/internal/quantity"
	"tare/internal/testing/sshguest"
)

// guests are the fake guests of the VMs that are on, by the VM's reference.
type guests struct {
	simulator *simulator.Context
	folder    string
	bridge    *virtnet.Bridge
	on        map[string]*guest
}

type guest struct {
	port  *virtnet.Port
	group *cgroup.Group
}

func newGuests(of *simulator.Context, folder string) (*guests, error) {
	bridge, err := virtnet.NewBridge(fmt.Sprintf("vcsim%07d", os.Getpid()), "a bridge")
	if err != nil {
		return nil, err
	}
	return &guests{of, folder, bridge, map[string]*guest{}}, nil
}

func (g *guests) close() {
	for vm := range g.on {
		g.end(vm)
	}
	g.bridge.Close(context.Background())
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
	case asked == "PowerOnVM_Task" && on && g.on[vm] == nil:
		address, err := g.boot(vm, m)
		if err != nil {
			return err
		}
		g.simulator.Map.WithLock(g.simulator, m, func() { m.Guest.IpAddress = address })
	case !on && g.on[vm] != nil:
		if there {
			g.simulator.Map.WithLock(g.simulator, m, func() { m.Guest.IpAddress = "" })
		}
		return g.end(vm)
	}
	return nil
}

// boot starts the fake guest of a VM.
func (g *guests) boot(name string, m *simulator.VirtualMachine) (string, error) {
	vm := &guest{}
	g.on[name] = vm
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
	if limits.Memory < 64*quantity.MiB {
		limits.Memory = 512 * quantity.MiB // the simulator's VMs have 32 MiB, too little for the agent
	}
	var err error
	if vm.group, err = cgroup.Create(fmt.Sprintf("/tare/fake-guest-%d-%s", os.Getpid(), name), limits); err != nil {
		return "", err
	}
	if vm.port, err = g.bridge.Namespace(); err != nil {
		return "", err
	}
	images, _ := filepath.EvalSymlinks(filepath.Join(g.folder, "images"))
	process, err := sshguest.Boot(sshguest.Guest{
		Keys: sshguest.Keys(filepath.Join(g.folder, "keys")), Folder: filepath.Join(g.folder, "disks", config.Uuid),
		Images: images, NetNS: vm.port.File, Place: vm.group.Add, Visible: true,
	})
	if err != nil {
		return "", err
	}
	go process.Wait()
	return vm.port.Address.Addr().String(), nil
}

func (g *guests) end(name string) error {
	vm := g.on[name]
	delete(g.on, name)
	var problems []error
	if vm.group != nil {
		problems = append(problems, vm.group.Kill(context.Background()), vm.group.Remove())
	}
	if vm.port != nil {
		problems = append(problems, vm.port.Close())
	}
	return errors.Join(problems...)
}
