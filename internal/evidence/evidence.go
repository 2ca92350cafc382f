// Package evidence is what the kernel counted while a workload ran: system
// calls by name, context switches, page faults, time in softirqs and in parts
// of the kernel. It compares two sides, each by its operations, for the largest
// changes.
//
// It must not know how the counting is done (internal/evidence/probe does), nor
// environments, workloads or trials.
package evidence

import "tare/internal/sample"

// Evidence is what was counted in one trial. A figure that the kernel does not
// give is missing, with the reason.
type Evidence struct {
	Seconds float64 `json:"seconds"` // how long it was counted
	// Counts by name: syscall.read, switch.voluntary, fault.minor,
	// fault.major, softirq.NET_RX (seconds beside it in Times).
	Counts map[string]sample.Figure `json:"counts,omitempty"`
	// Times in seconds by name: softirq.NET_RX, syscall.read, kernel.overlay,
	// kernel.netfilter, kernel.seccomp.
	Times map[string]sample.Figure `json:"times,omitempty"`
	Notes []string                 `json:"notes,omitempty"`
}
