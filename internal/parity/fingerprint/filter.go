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

// passed are the hooks on the way between two programs of one instance. What only
// crosses the instance passes another.
var passed = []string{"prerouting", "input", "output", "postrouting"}

// filter is what packets pass on their way. The agent is a command of the
// workload, and seldom has the right to ask for the rules: then the host does,
// where the kernel is its own.
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
	// Where there is no chain nothing asks for connections to be tracked, and the
	// kernel may have no part that could.
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

// decade is between which powers of ten a number lies: engines add and remove
// single rules as other containers come and go.
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

// filterOf looks at it in the network namespace of this name, through a process
// of the instance that is there.
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
