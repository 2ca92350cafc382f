package environment

import "time"

// StopTimeouts bound the steps of an Instance.Stop.
type StopTimeouts struct {
	// Terminate bounds an orderly end: the agent shuts down what it started, and
	// the instance exits. It ends earlier with the caller's context.
	Terminate time.Duration
	// Kill bounds killing what is left and removing everything that Start made. It
	// does not depend on the caller's context: nothing may be left behind.
	Kill time.Duration
}

// CallerStopTimeout is the deadline of the context with which a trial calls Stop:
// longer than any Terminate, and no limit for Kill.
const CallerStopTimeout = 30 * time.Second

// The timeouts by the way in which instances run; docs/contributing/architecture.md has the table.
var (
	ProcessStop    = StopTimeouts{Terminate: 3 * time.Second, Kill: 20 * time.Second} // a child of tare
	ContainerStop  = StopTimeouts{Terminate: 5 * time.Second, Kill: 30 * time.Second} // an engine or OCI runtime
	GuestStop      = StopTimeouts{Terminate: 5 * time.Second, Kill: 20 * time.Second} // a VMM of tare
	HypervisorStop = StopTimeouts{Terminate: 20 * time.Second, Kill: 3 * time.Minute} // a VM of a hypervisor
	// SessionStop bounds the end of a session on another host with all instances in
	// it, each of which has its own timeouts, and how long a cancelled call may take
	// to answer.
	SessionStop = StopTimeouts{Kill: time.Minute}
)

// Parts of GuestStop.Kill.
const (
	QuitTimeout = 2 * time.Second // for the request to quit, and again for the VMM's exit
	ExitTimeout = 5 * time.Second // for the VMM's exit after SIGKILL
)
