// Package agent is the host's side of the agent, the small program that runs
// in every instance. It starts commands there, streams their output, times
// them with the instance's monotonic clock, reads and writes files, and waits
// until a server answers. The other side is package server.
//
// It works over any byte stream (stdio of a container, a virtio-serial port, a
// vsock). It must not know which environment the agent runs in, nor what a
// workload is.
package agent

import (
	"io"
	"syscall"
	"time"

	"tare/internal/agent/wire"
)

// Hello is the agent's first message. An instance is ready when it arrives, in
// every environment alike.
type Hello = wire.Hello

// Command is a command to run in the instance.
type Command struct {
	Argv []string
	Env  []string // added to the image's environment, KEY=VALUE
	Dir  string   // "" is /
	User string   // "" is root; a name or uid[:gid]
	// CPUs are the cores that the command may run on, as the instance numbers
	// them; none means all. Start fails if the kernel does not allow all of them.
	CPUs []int
	// Stdin is read as fast as the command reads it, until EOF or until the
	// command exits; nil is empty input. If reading fails, the command is killed.
	Stdin io.Reader
	// Input is a regular file of the instance that the command has as its standard
	// input, without a pipe; "" is none. Only without Stdin.
	Input string
	// Stdout and Stderr receive the output byte for byte; nil discards it. The
	// command always writes to pipes.
	Stdout, Stderr io.Writer
	// Unmasked leaves secrets in the outputs, which are for another instance alone.
	Unmasked bool
	// Attached: the output stays on the agent's first stream, and so passes what that
	// passes, if there is a second one.
	Attached bool
	// Timeout kills the command's whole process group; 0 means none.
	Timeout time.Duration
}

// Exit is how a command ended. Times are the instance's monotonic clock.
type Exit = wire.Exit

// Probe is a readiness check of a server. Exactly one of TCP, HTTP, Unix and
// Exec is set.
type Probe = wire.Probe

// ClockReading is one reading of both clocks: the instance's Clock was read
// between Sent and Received on the host's.
type ClockReading struct {
	Sent, Received time.Time
	Clock          time.Duration
}

// ClockDrift compares how far the two clocks advanced between two readings.
// Ratio is instance over host. Uncertainty is the error of the ratio that the
// round trips allow: the clocks disagree only if |ratio-1| exceeds both the
// tolerance and the uncertainty.
func ClockDrift(before, after ClockReading) (ratio, uncertainty float64) {
	host := after.Received.Add(after.Sent.Sub(after.Received) / 2).
		Sub(before.Received.Add(before.Sent.Sub(before.Received) / 2))
	if host <= 0 {
		return 1, 1
	}
	slack := (after.Received.Sub(after.Sent) + before.Received.Sub(before.Sent)) / 2
	return float64(after.Clock-before.Clock) / float64(host), float64(slack) / float64(host)
}

// Signal is a signal for Process.Signal.
type Signal = syscall.Signal
