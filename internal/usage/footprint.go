package usage

import (
	"strings"

	"tare/internal/linux/cgroup"
	"tare/internal/linux/procfile"
)

// Footprint lists where the usage of an instance can be read from outside.
type Footprint struct {
	// Cgroups are the groups that hold the instance's processes, as paths below
	// each controller's mount point ("/tare/x/y").
	Cgroups []string
	// Role of the processes in those groups, "" for the workload's, and the roles of
	// those that have another one, by the kernel's name of the process.
	Role  string
	Roles map[string]string
	// Processes that serve the instance from outside those groups: a shim, a port
	// proxy, a logger. Each is counted with its descendants.
	Processes []Process
	// Early is a group in which Processes are, and those of Cgroups were at first; "" if there
	// is none. Only the CPU time of a start is read there.
	Early string
	// NetworkPID is a process whose /proc/PID/net/dev shows the instance's
	// network traffic; 0 if the instance does not have its own network.
	NetworkPID int
	// Devices are interfaces of the host that transfer the instance's traffic
	// instead.
	Devices []string
	// Space is the path of the network namespace that Devices are in; "" for
	// the host's.
	Space string
	// Elsewhere reads the usage of an instance on another machine, of which nothing else is
	// here; nil for one on this machine.
	Elsewhere Elsewhere
}

// Elsewhere reads the usage of an instance on another machine.
type Elsewhere interface {
	Meter(o Options) Meter
	UsageOfStart() Usage
}

// Roles of processes in groups.
const (
	Workload = "workload"
	Agent    = "agent" // tare's agent in the instance
	vhost    = "vhost" // a kernel thread that serves one guest
)

func (f Footprint) roleInside(name string) string {
	switch {
	case f.Roles[name] != "":
		return f.Roles[name]
	case name == "agent" || name == "tare-agent":
		return Agent
	case strings.HasPrefix(name, "vhost-"):
		return vhost
	case f.Role != "":
		return f.Role
	}
	return Workload
}

// PIDs lists the processes that are there now, as far as the groups can be read.
func (f Footprint) PIDs() (pids []int) {
	for _, path := range f.Cgroups {
		if group, err := cgroup.At(path); err == nil {
			inside, _ := group.PIDs()
			pids = append(pids, inside...)
		}
	}
	for _, p := range f.Processes {
		pids = append(append(pids, p.PID), procfile.Descendants(p.PID)...)
	}
	return pids
}

// Process is a process of the environment, with its role.
type Process struct {
	PID  int
	Role string // vmm, sandbox, gofer, shim, proxy, logger
}
