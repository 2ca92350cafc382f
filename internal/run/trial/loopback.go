package trial

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/study"
)

// spreadOverLoopback gives the servers of environments that share the loopback of a
// machine different addresses of it, as all of them run at the same time. The baseline
// keeps 127.0.0.1, else the first environment of the plan. The order of the plan makes
// the addresses the same in each block.
func (r *Runner) spreadOverLoopback(all []*participant) {
	on := map[string][]*participant{} // by machine
	for _, p := range all {
		if p.takesPart() && p.group != nil && p.group.Loopback() != "" {
			on[p.group.Loopback()] = append(on[p.group.Loopback()], p)
		}
	}
	rank := func(p *participant) int {
		if p.slot.Environment == r.plan.Baseline {
			return -1
		}
		return slices.IndexFunc(r.plan.Environments, func(e study.Environment) bool { return e.Name == p.slot.Environment })
	}
	for _, sharing := range on {
		slices.SortFunc(sharing, func(a, b *participant) int { return cmp.Compare(rank(a), rank(b)) })
		address := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		for n, p := range sharing {
			if n > 0 {
				address = address.Next()
				p.loopback = address.String()
			}
			others := slices.DeleteFunc(slices.Clone(sharing), func(other *participant) bool { return other == p })
			p.sharing = lists.Map(others, func(other *participant) string { return other.slot.Environment })
		}
	}
}

// collides says whether the servers run twice at one address: one that tare does not
// choose, or a machine's own at which they are reached.
func (p *participant) collides() bool {
	pack := p.pack()
	return len(p.sharing) > 0 && len(pack.Servers) > 0 && (!pack.ServersUseAddress() || p.group.Network != nil)
}

// explainSharing adds to a failure what may be its cause.
func (p *participant) explainSharing() {
	if p.err == nil || !p.collides() {
		return
	}
	p.err = fmt.Errorf("%w\nenvironment %s shares the network of its machine with %s, and their servers run at the same time, at an address that tare does not choose: set order: interleaved, or fresh: trial for the workload",
		p.err, p.slot.Environment, strings.Join(p.sharing, ", "))
}
