// Package probe counts in the kernel what the processes of an instance do:
// system calls, context switches, page faults, softirqs, and time in parts of
// the kernel. It uses the BPF programs in bpf/. Where BPF is not permitted, perf
// events give some of the counts, or strace most of them; the others are missing, with the
// reason.
//
// It must not know environments, workloads or trials: its input is cgroups and
// processes. docs/explanation/evidence.md gives its overhead.
package probe

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// Depth is how much is counted.
type Depth int

// The depths.
const (
	Syscalls Depth = iota // counts of system calls by name, and nothing else
	All
	// Counts is All; where BPF is not permitted, strace counts, which is much slower.
	Counts
)

// Probe counts from its start until Stop.
type Probe struct {
	backend  backend
	evidence *evidence.Evidence // after Stop
}

// backend is a way of counting.
type backend interface{ stop() evidence.Evidence }

// Start starts counting for the processes of the footprints and all that they
// start. It always succeeds: what cannot be counted on this machine is missing
// in the evidence, with the reason.
func Start(ctx context.Context, depth Depth, footprints ...usage.Footprint) *Probe {
	if err := ctx.Err(); err != nil {
		return &Probe{backend: unavailable{err.Error()}}
	}
	strace := depth == Counts
	if strace {
		depth = All
	}
	t, err := startTracer(depth, footprints)
	if err == nil {
		return &Probe{backend: t}
	}
	if strace {
		s, straceErr := startStrace(ctx, footprints, err)
		if straceErr == nil {
			return &Probe{backend: s}
		}
		err = fmt.Errorf("%w; %w", err, straceErr)
	}
	p, perfErr := startPerfCounters(depth, footprints, err)
	if perfErr == nil {
		return &Probe{backend: p}
	}
	return &Probe{backend: unavailable{fmt.Sprintf("%v; %v", err, perfErr)}}
}

// Stop ends the counting, releases its resources and returns the evidence. A
// later call returns the same.
func (p *Probe) Stop() evidence.Evidence {
	if p.evidence == nil {
		e := p.backend.stop()
		p.evidence = &e
	}
	return *p.evidence
}

// unavailable is the backend where nothing can be counted.
type unavailable struct{ reason string }

func (u unavailable) stop() evidence.Evidence { return Without(u.reason) }

// Without returns the evidence where nothing can be counted.
func Without(reason string) evidence.Evidence {
	e := evidence.Evidence{Counts: map[string]usage.Figure{}}
	absent := usage.Absent("%s", strings.TrimSpace(reason))
	for _, name := range []string{evidence.Syscalls, evidence.Voluntary, evidence.Involuntary, evidence.MinorFaults, evidence.MajorFaults} {
		e.Counts[name] = absent
	}
	return e
}
