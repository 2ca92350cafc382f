// Package evidence is what the kernel counted while a workload ran: system
// calls by name, context switches, page faults, time in softirqs and in parts
// of the kernel. It compares two sides, each by its operations, for the largest
// changes.
//
// It must not know how the counting is done (internal/evidence/probe does), nor
// environments, workloads or trials.
package evidence

import "tare/internal/usage"

// Evidence is what was counted in one trial. A figure that the kernel does not
// give is missing, with the reason.
//
// Names are the same in Counts and Times:
//
//	syscalls           all system calls; the time is what they ran
//	syscall.read       those of one name
//	wait.read          time in which calls of the name did not run (Times alone)
//	switch.voluntary   the task waited; switch.involuntary: it was made to
//	fault.minor        page faults without storage; fault.major: with
//	softirq.NET_RX     while a task of the environment was the one interrupted
//	user, kernel       where the processor was while a task of the environment
//	                   ran, or was interrupted (Times alone, by samples)
//	kernel.overlay     in that part of the kernel, of which kernel is the sum
//	host.*             the same of the whole machine, whichever task ran
type Evidence struct {
	Seconds float64                 `json:"seconds"` // how long it was counted
	Counts  map[string]usage.Figure `json:"counts,omitempty"`
	Times   map[string]usage.Figure `json:"times,omitempty"`
	// Parts are the same by what a process is in the environment: inside for
	// those of the instance, and the roles of those around it (shim, proxy, vmm,
	// sandbox). host.* belongs to none.
	Parts map[string]Tally `json:"parts,omitempty"`
	Notes []string         `json:"notes,omitempty"`
}

// Tally is how often things happened, and how long they took in seconds.
type Tally struct {
	Counts map[string]usage.Figure `json:"counts,omitempty"`
	Times  map[string]usage.Figure `json:"times,omitempty"`
}

// Syscalls is the name under which all system calls are counted together.
const Syscalls = "syscalls"

// Inside is the part that the instance's own processes play.
const Inside = "inside"

// The names, and the beginnings of names.
const (
	Voluntary   = "switch.voluntary"
	Involuntary = "switch.involuntary"
	// Switches are both, where they cannot be told apart.
	Switches    = "switches"
	MinorFaults = "fault.minor"
	MajorFaults = "fault.major"
	Syscall     = "syscall."
	Wait        = "wait."
	Softirq     = "softirq."
	Kernel      = "kernel."
	InKernel    = "kernel" // all sections together
	InUser      = "user"
	InProbe     = "probe" // what the counting itself took, and no part of kernel
	Host        = "host."
)
