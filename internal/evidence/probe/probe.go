// Package probe counts in the kernel what the processes of an instance do:
// system calls, context switches, page faults, softirqs, and time in parts of
// the kernel. It does so with small BPF programs that it puts together itself;
// where BPF is refused, the kernel's performance counters give a part of it, and
// what cannot be had is missing with the reason.
//
// It must not know environments, workloads or trials: it is handed cgroups and
// processes. To watch is not free: docs/evidence.md says what it costs.
package probe

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/evidence"
	"tare/internal/sample"
)

// Depth is how much is counted.
type Depth int

// The depths.
const (
	Syscalls Depth = iota // system calls by name, and nothing else
	All
)

// Probe counts from its start until Stop.
type Probe struct {
	counting counting
	evidence *evidence.Evidence // once it has been stopped
}

// counting is one way of doing it.
type counting interface{ stop() evidence.Evidence }

// Start begins to count what the processes of the footprints do, and all that
// they start. It always succeeds: what the machine refuses is missing in the
// evidence.
func Start(ctx context.Context, depth Depth, footprints ...sample.Footprint) *Probe {
	if err := ctx.Err(); err != nil {
		return &Probe{counting: nothing{err.Error()}}
	}
	if c, err := startPrograms(depth, footprints); err == nil {
		return &Probe{counting: c}
	} else if c, otherwise := startCounters(depth, footprints, err); otherwise == nil {
		return &Probe{counting: c}
	} else {
		return &Probe{counting: nothing{fmt.Sprintf("%v; %v", err, otherwise)}}
	}
}

// Stop ends the counting and gives back all that it took. A later call returns
// the same.
func (p *Probe) Stop() evidence.Evidence {
	if p.evidence == nil {
		e := p.counting.stop()
		p.evidence = &e
	}
	return *p.evidence
}

// nothing can be counted.
type nothing struct{ why string }

func (n nothing) stop() evidence.Evidence { return Without(n.why) }

// Without is the evidence where nothing can be counted.
func Without(why string) evidence.Evidence {
	e := evidence.Evidence{Counts: map[string]sample.Figure{}}
	absent := sample.Absent("%s", strings.TrimSpace(why))
	for _, name := range []string{evidence.Syscalls, evidence.Voluntary, evidence.Involuntary, evidence.MinorFaults, evidence.MajorFaults} {
		e.Counts[name] = absent
	}
	return e
}
