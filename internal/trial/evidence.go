package trial

import (
	"bytes"
	"context"
	"errors"
	"os"

	"tare/internal/environment"
	"tare/internal/evidence"
	"tare/internal/evidence/probe"
	"tare/internal/sample"
)

// watch begins to count in the kernel what the measured instances do, where the
// trial or the study asks for it. The function that it returns ends that.
func (m *measurement) watch(ctx context.Context) func() *evidence.Evidence {
	depth := probe.All
	switch {
	case m.trial.Traced:
	case m.runner.Plan.Sampling.Syscalls:
		depth = probe.Syscalls
	default:
		return func() *evidence.Evidence { return nil }
	}
	var footprints []sample.Footprint
	var within *member // an instance with a kernel of its own
	for _, member := range m.held.measured() {
		if member.onHost {
			continue
		}
		if _, elsewhere := member.Instance.(environment.Metered); elsewhere {
			return func() *evidence.Evidence {
				e := probe.Without("the instance is on another machine, whose kernel is not watched from here")
				return &e
			}
		}
		footprints = append(footprints, member.Footprint())
		if within == nil && depth == probe.All && ownKernel(ctx, member) {
			within = member
		}
	}
	var before evidence.Reading
	var refused error
	if within != nil {
		before, refused = readKernel(ctx, within)
	}
	p := probe.Start(ctx, depth, footprints...)
	return func() *evidence.Evidence {
		e := p.Stop()
		if within == nil {
			return &e
		}
		after, err := readKernel(ctx, within)
		switch err = errors.Join(refused, err); {
		case len(footprints) > 1:
			e.NoGuest(errors.New("there are several instances"))
		case err != nil:
			e.NoGuest(err)
		default:
			e.AddGuest(before, after)
		}
		return &e
	}
}

// mostOfProc is how much of a file of /proc is read.
const mostOfProc = 1 << 20

// ownKernel says whether another kernel than this machine's runs in an instance:
// each has a number of its own from when it booted.
func ownKernel(ctx context.Context, m *member) bool {
	const boot = "/proc/sys/kernel/random/boot_id"
	here, err := os.ReadFile(boot)
	if err != nil {
		return false
	}
	there, err := m.Agent().ReadFile(ctx, boot, mostOfProc)
	return err != nil || !bytes.Equal(bytes.TrimSpace(here), bytes.TrimSpace(there))
}

func readKernel(ctx context.Context, m *member) (evidence.Reading, error) {
	stat, err := m.Agent().ReadFile(ctx, "/proc/stat", mostOfProc)
	if err != nil {
		return evidence.Reading{}, err
	}
	// A sandbox's kernel need not have these.
	softirqs, _ := m.Agent().ReadFile(ctx, "/proc/softirqs", mostOfProc)
	return evidence.Read(string(stat), string(softirqs)), nil
}
