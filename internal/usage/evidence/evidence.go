// Package evidence compares what the kernel counted while a workload ran on two
// sides: system calls by name, context switches, page faults, time in softirqs
// and in kernel subsystems, all per operation, sorted by the size of the change.
//
// It must not know how the figures are collected (internal/usage/evidence/probe does),
// nor environments, workloads or trials.
package evidence

import "tare/internal/usage"

// Evidence holds the counters of one trial. If the kernel does not expose a
// counter, the figure is missing, with the reason.
//
// Names are the same in Counts and Times:
//
//	syscalls           all system calls; the time is CPU time
//	syscall.read       those of one name
//	wait.read          time in calls of the name without running (Times only)
//	switch.voluntary   the task blocked; switch.involuntary: it was preempted
//	fault.minor        page faults without I/O; fault.major: with I/O
//	started.process    processes that were started, and threads
//	transfer.read.tcp.small
//	                   calls that read from TCP sockets, of up to 4 KiB each; see
//	                   Directions, Objects and Sizes
//	bytes.read.tcp.small
//	                   the bytes that these transferred (Counts only)
//	blocked.syscall.read, blocked.transfer.read.tcp.small
//	                   voluntary switches in these calls (Counts only)
//	softirq.NET_RX     softirqs that interrupted a task of the environment
//	user, kernel       CPU time by mode while a task of the environment ran or was
//	                   interrupted (Times only, from stack samples)
//	kernel.overlay     CPU time in a kernel subsystem; kernel is the sum
//	host.*             the same for the whole machine, whichever task ran
type Evidence struct {
	Seconds float64                 `json:"seconds"` // duration of the counting
	Counts  map[string]usage.Figure `json:"counts,omitempty"`
	Times   map[string]usage.Figure `json:"times,omitempty"`
	// Parts has the same figures by the role of the process: inside for processes
	// of the instance, else shim, proxy, vmm or sandbox. host.* is in none.
	Parts map[string]Tally `json:"parts,omitempty"`
	Notes []string         `json:"notes,omitempty"`
}

// Tally holds counts of events, and times in seconds.
type Tally struct {
	Counts map[string]usage.Figure `json:"counts,omitempty"`
	Times  map[string]usage.Figure `json:"times,omitempty"`
}

// Syscalls is the name of the total over all system calls.
const Syscalls = "syscalls"

// Inside is the role of the instance's own processes.
const Inside = "inside"

// Names and prefixes of names.
const (
	Voluntary   = "switch.voluntary"
	Involuntary = "switch.involuntary"
	// Switches is the sum of both, where they are not counted separately.
	Switches    = "switches"
	MinorFaults = "fault.minor"
	MajorFaults = "fault.major"
	Syscall     = "syscall."
	Wait        = "wait."
	Processes   = "started.process"
	Threads     = "started.thread"
	Transfer    = "transfer."
	Bytes       = "bytes."
	Blocked     = "blocked."
	Softirq     = "softirq."
	Kernel      = "kernel."
	InKernel    = "kernel" // all sections together
	InUser      = "user"
	InProbe     = "probe" // time in the probes themselves; not part of kernel
	Host        = "host."
)

// Transfers are named by their direction, by what they go to, and by their size. An output is a
// pipe that is a standard output or a standard error.
var (
	Directions = []string{"read", "write"}
	Objects    = []string{"file", "pipe", "unix", "tcp", "udp", "other", "output"}
	Sizes      = []string{"small", "large"} // up to 4 KiB, and more
)

// The system calls that transfer bytes from or to their first argument, a file descriptor.
var (
	ReadCalls  = []string{"read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg"}
	WriteCalls = []string{"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "sendfile"}
)
