package sample

import "strings"

// Footprint says where the cost of an instance is to be read from outside.
type Footprint struct {
	// Cgroups are the groups that hold the instance's processes, as paths below
	// each controller's mount point ("/tare/x/y").
	Cgroups []string
	// Role of the processes in those groups, and where some play another one,
	// theirs by the kernel's name for the process; "" is the workload's.
	Role  string
	Roles map[string]string
	// Processes serve the instance from outside those groups: a shim, a port
	// proxy, a logger. Each is counted with the processes that it starts.
	Processes []Process
	// NetworkPID is a process whose /proc/PID/net/dev shows the instance's
	// network traffic; 0 when the instance has no network of its own.
	NetworkPID int
	// Devices are host interfaces that carry the instance's traffic instead.
	Devices []string
	// Space is the path of the network namespace that Devices are in; "" for
	// the host's own.
	Space string
}

// The roles of processes in groups that nobody names.
const (
	Workload = "workload"
	Agent    = "agent" // tare's own, inside
	vhost    = "vhost" // a thread of the kernel's that works for one guest
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

// Process is one process of the environment with the part that it plays.
type Process struct {
	PID  int
	Role string // vmm, sandbox, gofer, shim, proxy, logger
}
