package attribution

import (
	"slices"
	"strings"

	"tare/internal/environment/oci"
)

// The keys of the options that say which runtime is started, and how. They make
// one part: the arguments of one mean nothing to another.
var runtimeKeys = []string{"runtime", "runtime_args", "platform"}

const gvisorGroup = "gvisor"

// isolation are the steps between two sets of options of the kind oci.
func (r *route) isolation(from, to tree) []atom {
	var before, after oci.Options
	if decode(from, &before) != nil || decode(to, &after) != nil {
		return nil // they were made from such options
	}
	enters, leaves := !gvisor(before) && gvisor(after), gvisor(before) && !gvisor(after)
	whole := r.switches(r.in("oci", to))
	var list, own []atom
	var runtime []delta
	for _, c := range differences(from, to) {
		if slices.Contains(runtimeKeys, c.path) {
			runtime = append(runtime, c)
		}
	}
	for _, a := range whole {
		switch {
		case slices.Contains(runtimeKeys, a.Key):
		case a.Group == gvisorGroup && (enters || leaves):
		default:
			list = append(list, a)
		}
	}
	switch {
	case enters:
		own = r.enter(runtime, after)
	case leaves:
		own = r.leave(runtime, before)
	case len(runtime) > 0:
		p := part("oci", runtime[0])
		if p.Key = "runtime"; runtime[0].path != "runtime" {
			p.Key = runtime[0].path
		}
		own = []atom{{Part: p, apply: setting(runtime)}}
		for _, c := range runtime[1:] {
			own[0].About, own[0].Switched = several(own[0].About, c.String()), several(own[0].Switched, c.String())
		}
		return append(own, list...)
	}
	return append(list, own...)
}

func setting(list []delta) func(*draft) {
	return func(d *draft) {
		for _, c := range list {
			d.options.set(c.path, c.after)
		}
	}
}

// lean is gVisor with as much of the host's as it can use: the kernel's network
// stack and file systems, and files that nobody else changes.
var lean = oci.Gvisor{Directfs: true}

// enter goes to gVisor: its kernel and platform first, on the network and the
// file systems of the kernel below, and then its own.
func (r *route) enter(runtime []delta, o oci.Options) []atom {
	first := o
	start := lean
	if o.Network == "host" { // the stack means nothing there
		start.Netstack = o.Gvisor.Netstack
	}
	if o.Platform != "" {
		first.Platform = "systrap"
	}
	changes := slices.Concat(runtime, gvisorChanges(oci.Default().Gvisor, start))
	for n := range changes {
		if changes[n].path == "platform" {
			changes[n].after = first.Platform
		}
	}
	sentry := atom{
		Part: Part{Key: "gvisor.sentry", Name: "kernel of gVisor and its platform " + first.Platform, Group: gvisorGroup,
			About: "system calls are served by gVisor's own kernel in user space, on the network stack and the file systems of the kernel below"},
		apply: setting(changes),
	}
	list := []atom{sentry}
	if o.Platform != first.Platform {
		list = append(list, r.gvisorAtom(delta{"platform", first.Platform, o.Platform}, sentry.Key))
	}
	for _, c := range gvisorChanges(start, o.Gvisor) {
		list = append(list, r.gvisorAtom(c, sentry.Key))
	}
	r.note("gVisor's platform cannot be taken out of its kernel: it is a part of that step; compare platform: systrap with ptrace for what it makes out")
	return list
}

// leave is the same way back.
func (r *route) leave(runtime []delta, o oci.Options) []atom {
	var list []atom
	sentry := atom{
		Part: Part{Key: "gvisor.sentry", Name: "absence of gVisor's kernel and platform", Group: gvisorGroup,
			About: "system calls are served by the host's kernel"},
		apply: setting(slices.Concat(runtime, gvisorChanges(lean, oci.Default().Gvisor))),
	}
	for _, c := range gvisorChanges(o.Gvisor, lean) {
		a := r.gvisorAtom(c)
		list, sentry.Needs = append(list, a), append(sentry.Needs, a.Key)
	}
	return append(list, sentry)
}

func (r *route) gvisorAtom(c delta, needs ...string) atom {
	p := part("oci", c)
	p.Group, p.Needs = gvisorGroup, needs
	if !strings.HasPrefix(p.Key, "gvisor.") {
		p.Key = "gvisor." + p.Key
	}
	return atom{Part: p, apply: setting([]delta{c})}
}

func gvisorChanges(from, to oci.Gvisor) (list []delta) {
	one, _ := treeOf(map[string]any{"gvisor": from}) // two structs of plain values
	two, _ := treeOf(map[string]any{"gvisor": to})
	return differences(one, two)
}
