package oci

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tare/internal/environment"
)

// ladderParts declares what the kind offers to ladders. It is also the intermediate kind
// of those between native processes, engines and gVisor: all parts of a container
// can be switched here.
var ladderParts = environment.Parts{
	Switches: ladderSwitches,
	Regroup:  regroup,
	Cross:    func(options, _ any) (environment.Crossing, error) { return Crossing(*options.(*Options)), nil },
	Align:    align,
}

// PodmanCapabilities are those that Podman gives a container by default.
const PodmanCapabilities = "chown,dac_override,fowner,fsetid,kill,net_bind_service,setfcap,setgid,setpcap,setuid,sys_chroot"

// values that have a name of their own, by the option.
var values = map[string]map[string]environment.Value{
	"namespaces.mount":  {"true": {Name: "mount namespace", Effect: "the instance has a separate mount table"}},
	"namespaces.pid":    {"true": {Name: "pid namespace", Effect: "processes also have PIDs in a separate namespace"}},
	"namespaces.ipc":    {"true": {Name: "ipc namespace", Effect: "System V IPC and POSIX message queues are separate from the host"}},
	"namespaces.uts":    {"true": {Name: "uts namespace", Effect: "the host name is separate from the host"}},
	"namespaces.cgroup": {"true": {Name: "cgroup namespace", Effect: "the instance sees its cgroup as the root cgroup"}},
	"namespaces.user":   {"true": {Name: "user namespace", Effect: "the kernel translates user and group ids"}},
	"devices":           {"true": {Name: "device filter", Effect: "each open of a device runs the cgroup's device filter"}},
	"masked":            {"true": {Name: "masked paths", Effect: "paths of /proc and /sys are hidden or read-only by additional mounts"}},
	"capabilities": {
		"default":          {Name: "Docker's set of capabilities", Effect: "root inside has Docker's default capabilities"},
		"all":              {Name: "full set of capabilities", Effect: "root inside has all capabilities of tare"},
		PodmanCapabilities: {Name: "Podman's set of capabilities", Effect: "root inside has Podman's default capabilities"},
	},
	"no_new_privs": {
		"true":  {Name: "no_new_privs flag", Effect: "execve cannot add privileges"},
		"false": {Name: "absence of the no_new_privs flag", Effect: "execve can add privileges"},
	},
	"gvisor.netstack": {
		"true":  {Name: "network stack of gVisor", Effect: "gVisor's network stack makes the packets"},
		"false": {Name: "kernel's network stack under gVisor", Effect: "sockets are those of the host's kernel"},
	},
	"gvisor.overlay": {
		"true":  {Name: "overlay of gVisor", Effect: "gVisor merges the layers of the root, and keeps writes in a file"},
		"false": {Name: "kernel's overlay under gVisor", Effect: "the host's kernel merges the layers of the root"},
	},
	"gvisor.shared": {
		"true":  {Name: "shared file access of gVisor", Effect: "gVisor does not cache metadata of /data, since others can change it"},
		"false": {Name: "exclusive file access of gVisor", Effect: "gVisor caches metadata of /data"},
	},
	"gvisor.directfs": {
		"false": {Name: "gofer of gVisor", Effect: "another process (the gofer) opens files"},
		"true":  {Name: "direct file access of gVisor", Effect: "the sandbox opens files"},
	},
}

var ways = map[string][][]string{
	"network": {{"host", "bridge", "nat"}},
	"log":     {{"null", "pipe", "file"}, {"null", "pipe", "json-file"}},
}

// ladderSwitches are the switches as ladders have them.
var ladderSwitches = func() (list []environment.Switch) {
	for _, s := range slices.Concat(byKey(GvisorSwitches), Switches) {
		list = append(list, environment.Switch{Option: s.Key, Name: s.Name, Ways: ways[s.Key], Values: values[s.Key]})
	}
	return list
}()

func byKey(list []Switch) []Switch {
	return slices.SortedFunc(slices.Values(list), func(a, b Switch) int { return cmp.Compare(a.Key, b.Key) })
}

// gvisorKernel is the Kernel of a crossing to gVisor.
const gvisorKernel = "gvisor"

// Crossing is a container of these options as one end of a ladder.
func Crossing(o Options) environment.Crossing {
	c := environment.Crossing{Kind: "oci", Options: &o}
	if o.gvisor() {
		c.Kernel = gvisorKernel
	}
	return c
}

// EngineCrossing is a container that an engine makes by this runtime, with these
// arguments. What gVisor's kernel does itself, or runsc sets for each
// sandbox, is not switched.
func EngineCrossing(o Options, runtime string, arguments []string) environment.Crossing {
	o.Runtime, o.RuntimeArgs = runtime, arguments
	if !o.gvisor() {
		return Crossing(o)
	}
	o.Platform, o.RuntimeArgs = "systrap", nil
	for _, a := range arguments {
		if platform, found := strings.CutPrefix(a, "--platform="); found {
			o.Platform = platform
			continue
		}
		o.RuntimeArgs = append(o.RuntimeArgs, a)
	}
	if o.Network == "host" {
		o.Gvisor.Netstack = false // it has none there
	}
	c := Crossing(o)
	c.Indifferent = []string{"namespaces.mount", "namespaces.pid", "namespaces.ipc", "namespaces.uts", "namespaces.cgroup", "namespaces.user",
		"namespaces.time", "devices", "masked", "capabilities", "no_new_privs", "seccomp"}
	return c
}

// AnyRuntime in Crossing.Indifferent is an environment without a runtime.
const AnyRuntime = "runtime"

// align implements environment.Parts.Align. An environment without a runtime takes
// the other end's, except gVisor, whose kernel is a step.
func align(one, two *environment.Crossing) {
	first, second := one.Options.(*Options), two.Options.(*Options)
	switch {
	case slices.Contains(one.Indifferent, AnyRuntime) && two.Kernel == "":
		first.Runtime, first.RuntimeArgs = second.Runtime, second.RuntimeArgs
	case slices.Contains(two.Indifferent, AnyRuntime) && one.Kernel == "":
		second.Runtime, second.RuntimeArgs = first.Runtime, first.RuntimeArgs
	}
	before := *second
	for _, key := range two.Indifferent {
		if s, known := FindSwitch(key); known {
			s.Set(second, s.Get(first))
		}
	}
	for _, key := range one.Indifferent {
		if s, known := FindSwitch(key); known && !slices.Contains(two.Indifferent, key) {
			s.Set(first, s.Get(&before))
		}
	}
}

// runtimeKeys are the options that choose the runtime. They make one part: the
// arguments of one runtime mean nothing to another.
var runtimeKeys = []string{"platform", "runtime", "runtime_args"}

const gvisorGroup = "gvisor"

// regroup implements environment.Parts.Regroup: the runtime is one part, and the
// way to and from gVisor leads through gVisor with as much of the host's kernel as
// it can use.
func regroup(from, to any, each []environment.Change) (list []environment.Change, notes []string) {
	before, after := from.(*Options), to.(*Options)
	enters, leaves := !before.gvisor() && after.gvisor(), before.gvisor() && !after.gvisor()
	var runtime []environment.Change
	for _, c := range each {
		switch {
		case slices.Contains(runtimeKeys, c.Key):
			runtime = append(runtime, c)
		case c.Group == gvisorGroup && (enters || leaves):
		default:
			list = append(list, c)
		}
	}
	switch {
	case enters:
		return append(list, enterGvisor(runtime, after)...), []string{
			"gVisor's platform cannot be switched separately from its kernel; compare platform: systrap with ptrace for its share"}
	case leaves:
		return append(list, leaveGvisor(runtime, before)...), nil
	case len(runtime) > 0:
		one := runtime[0]
		for _, c := range runtime[1:] {
			one.About, one.Switched = one.About+"; "+c.Switched, one.Switched+"; "+c.Switched
		}
		one.Set = together(runtime)
		return append([]environment.Change{one}, list...), nil
	}
	return list, nil
}

// together are the options that several changes set.
func together(list []environment.Change) map[string]any {
	all := map[string]any{}
	for _, c := range list {
		maps.Copy(all, c.Set)
	}
	return all
}

// leanGvisor is gVisor with as much of the host's as it can use: the kernel's
// network stack and file systems, and files that nobody else changes.
var leanGvisor = Gvisor{Directfs: true}

// enterGvisor switches gVisor's kernel and platform on first, on the network and
// the file systems of the kernel below, and then its own.
func enterGvisor(runtime []environment.Change, o *Options) []environment.Change {
	platform := o.Platform
	start := leanGvisor
	if o.Network == "host" { // its network stack means nothing there
		start.Netstack = o.Gvisor.Netstack
	}
	set := together(slices.Concat(runtime, gvisorChanges(defaultGvisor, start)))
	if o.Platform != "" {
		platform = "systrap"
		set["platform"] = platform
	}
	sentry := environment.Change{Part: environment.Part{Key: "gvisor.sentry", Name: "kernel of gVisor and its platform " + cmp.Or(platform, "systrap"), Group: gvisorGroup,
		About: "gVisor's kernel in user space serves system calls, with the network stack and the file systems of the host's kernel"}, Set: set}
	list := []environment.Change{sentry}
	if o.Platform != platform {
		list = append(list, gvisorChange("platform", platform, o.Platform))
	}
	list = append(list, gvisorChanges(start, o.Gvisor)...)
	for n := range list[1:] {
		list[n+1].Needs = []string{sentry.Key}
	}
	return list
}

// leaveGvisor is the same way back.
func leaveGvisor(runtime []environment.Change, o *Options) []environment.Change {
	list := gvisorChanges(o.Gvisor, leanGvisor)
	sentry := environment.Change{Part: environment.Part{Key: "gvisor.sentry", Name: "absence of gVisor's kernel and platform", Group: gvisorGroup,
		About: "the host's kernel serves system calls"}, Set: together(slices.Concat(runtime, gvisorChanges(leanGvisor, defaultGvisor)))}
	for _, c := range list {
		sentry.Needs = append(sentry.Needs, c.Key)
	}
	return append(list, sentry)
}

func gvisorChange(option string, before, after any) environment.Change {
	c := environment.Parts{Switches: ladderSwitches}.Change(option, before, after)
	c.Group = gvisorGroup
	if !strings.HasPrefix(c.Key, "gvisor.") {
		c.Key = "gvisor." + c.Key
	}
	return c
}

func gvisorChanges(from, to Gvisor) (list []environment.Change) {
	before, after := Options{Gvisor: from}, Options{Gvisor: to}
	for _, s := range byKey(GvisorSwitches) {
		if one, two := *s.flag(&before), *s.flag(&after); one != two {
			list = append(list, gvisorChange(s.Key, one, two))
		}
	}
	return list
}
