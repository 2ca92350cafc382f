package hypervisor

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tare/internal/environment"
	"tare/internal/linux/cgroup"
)

// effectiveLimits reads back the limits of a guest that no cgroup of this machine has: the
// size of the VM from the hypervisor, and the limits that apply inside the guest.
func (g *Guest) effectiveLimits(ctx context.Context, l environment.Limits) (limits []environment.EffectiveLimit, err error) {
	s, err := g.backend.State(ctx, g.VM.Name)
	if err != nil {
		return nil, err
	}
	for _, wish := range (cgroup.Limits{CPUs: l.CPUs, Memory: l.Memory, Cores: l.Cores}).Requested() {
		wish.Where = g.backend.Kind + "'s configuration of the VM"
		switch {
		case wish.Limit == "memory":
			wish.Seen, wish.Holds = s.Memory.String(), s.Memory == l.Memory
		case s.Bound == nil:
			continue
		case wish.Limit == "cpus":
			wish.Seen, wish.Holds = fmt.Sprintf("%.4g CPUs", s.Bound.CPUs), math.Abs(s.Bound.CPUs-l.CPUs) <= 0.01*l.CPUs
		case wish.Limit == "cores":
			wish.Seen, wish.Holds = cgroup.FormatCores(s.Bound.Cores), slices.Equal(s.Bound.Cores, l.Cores)
			if s.Bound.Cores == nil {
				wish.Seen = "all"
			}
		}
		limits = append(limits, wish)
	}
	inner := inside(l)
	if len((cgroup.Limits{PIDs: inner.PIDs}).Requested()) == 0 && inner.IO.None() {
		return limits, nil
	}
	there, err := g.inner.Details().EffectiveLimits(ctx, inner)
	return append(limits, there...), err
}

// inside returns the limits that apply inside the guest, because the size of a VM
// does not include them.
func inside(l environment.Limits) environment.Limits {
	return environment.Limits{PIDs: l.PIDs, IO: l.IO}
}
