// Package agent is the host's side of the small program that tare puts into
// every instance: it starts commands there, streams what they print, times
// them with the instance's own monotonic clock, reads and writes files, and
// says when a server answers. The other side is package inside.
//
// It speaks over any byte stream (stdio of a container, a virtio-serial port,
// a vsock) and must not know which environment it is talking into, nor what a
// workload is. In the path of the data it stands between trial and the
// instance.
package agent

import (
	"io"
	"syscall"
	"time"

	"tare/internal/agent/wire"
)

// Hello is the agent's first word. Its arrival is what "ready" means, in every
// environment alike.
type Hello = wire.Hello

// Command is something to run inside the instance.
type Command struct {
	Argv []string
	Env  []string // added to the image's environment, KEY=VALUE
	Dir  string   // "" is /
	User string   // "" is root; a name or uid[:gid]
	// CPUs are the cores the command may run on, as the instance numbers them;
	// none means all. A kernel that refuses is an error, not a silence.
	CPUs []int
	// Stdin is read as the command takes it, to its end or the command's; nil is
	// an empty one. Where reading it fails, the command is killed.
	Stdin io.Reader
	// Stdout and Stderr receive the output byte for byte as it comes; nil
	// throws it away. The command always writes to pipes.
	Stdout, Stderr io.Writer
	// Timeout kills the command's whole process group; 0 means none.
	Timeout time.Duration
}

// Exit is how a command ended. Times are the instance's monotonic clock.
type Exit = wire.Exit

// Probe asks whether a server answers. Exactly one of TCP, HTTP, Unix and Exec
// is set.
type Probe = wire.Probe

// ClockReading is one look at both clocks: the instance's Clock was read between
// Sent and Received of the host's.
type ClockReading struct {
	Sent, Received time.Time
	Clock          time.Duration
}

// ClockDrift compares how far the two clocks moved between two readings. Ratio is
// instance over host; Uncertainty is how far the ratio could be off because a
// message takes time. The clocks disagree only when |Ratio-1| exceeds both the
// tolerance and the Uncertainty.
func ClockDrift(before, after ClockReading) (ratio, uncertainty float64) {
	host := after.Received.Add(after.Sent.Sub(after.Received) / 2).
		Sub(before.Received.Add(before.Sent.Sub(before.Received) / 2))
	if host <= 0 {
		return 1, 1
	}
	slack := (after.Received.Sub(after.Sent) + before.Received.Sub(before.Sent)) / 2
	return float64(after.Clock-before.Clock) / float64(host), float64(slack) / float64(host)
}

// Signal names what Process.Signal sends.
type Signal = syscall.Signal
