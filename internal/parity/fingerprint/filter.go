package fingerprint

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"tare/internal/agent/observe"
	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/netns"
	"tare/internal/parity"
)

// passed lists the netfilter hooks between two programs of one instance. Forwarded
// packets pass another one.
var passed = []string{"prerouting", "input", "output", "postrouting"}

// filter adds the rules and chains that packets pass. The agent rarely has the
// right to list them; then the host does, if the instance runs on its kernel.
func (r *reading) filter() {
	f, seen := r.Filter, parity.Inside
	if f.ChainsError != "" && r.outer.Shared && r.outer.Elsewhere == "" {
		f, seen = r.outer.Filter, parity.Outside
	}
	for _, hook := range passed {
		key := "network.filter[" + hook + "]"
		if f.ChainsError != "" {
			r.missing(key, seen, "%s", f.ChainsError)
			continue
		}
		var words []string
		for _, c := range f.Chains {
			if c.Hook == hook {
				words = append(words, c.Table+": "+decade(c.Rules)+" rules")
			}
		}
		slices.Sort(words)
		r.fact(key, cmp.Or(strings.Join(words, ", "), parity.None), seen)
	}
	// Without a chain nothing requires connection tracking, and the kernel may
	// have no module for it.
	none := f.ChainsError == "" && len(f.Chains) == 0
	switch {
	case f.TrackedError != "" && !none:
		r.missing("network.tracked", seen, "%s", f.TrackedError)
	case f.Tracked:
		r.fact("network.tracked", "on", seen)
	default:
		r.fact("network.tracked", "off", seen)
	}
}

// decade returns the powers of ten that a number lies between: engines add and
// remove single rules as other containers start and stop.
func decade(n int) string {
	if n == 0 {
		return "0"
	}
	least := 1
	for n >= 10*least {
		least *= 10
	}
	return fmt.Sprintf("%d to %d", least, 10*least-1)
}

// filterOf reads the packet filter in this network namespace, through a process of
// the instance that is in it.
func filterOf(i environment.Instance, name string) (f observe.Filter) {
	fail := func(err error) observe.Filter {
		return observe.Filter{ChainsError: err.Error(), TrackedError: err.Error()}
	}
	groups := i.Footprint().Cgroups
	if len(groups) == 0 {
		return fail(fmt.Errorf("the instance has no cgroup, by which its network namespace is found"))
	}
	group, err := cgroup.At(groups[0])
	if err != nil {
		return fail(err)
	}
	counter := group.Counter()
	defer counter.Close()
	for _, pid := range counter.Processes(nil) {
		path := fmt.Sprintf("/proc/%d/ns/net", pid)
		if there, err := os.Readlink(path); err != nil || there != name {
			continue
		}
		space, err := os.Open(path)
		if err != nil {
			return fail(err)
		}
		defer space.Close()
		if err := netns.Within(space, func() error { f = observe.PacketFilter(); return nil }); err != nil {
			return fail(err)
		}
		return f
	}
	return fail(fmt.Errorf("no process of the cgroup %s is in the network namespace %q", groups[0], name))
}
