package sample

// Footprint says where the cost of an instance is to be read from outside.
type Footprint struct {
	// Cgroups are the groups that hold the instance's processes, as paths below
	// each controller's mount point ("/tare/x/y").
	Cgroups []string
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

// Process is one process of the environment with the part that it plays.
type Process struct {
	PID  int
	Role string // vmm, sandbox, gofer, shim, proxy, logger
}
