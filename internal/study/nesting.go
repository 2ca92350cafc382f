package study

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/host"
	"tare/internal/image"
	"tare/internal/workload"
)

// Host is another machine that environments and roles can run on.
type Host struct {
	// SSH is the destination, as ssh takes it: a name of the ssh_config,
	// user@name or user@name:port.
	SSH string `yaml:"ssh" json:"ssh"`
	// Identity, KnownHosts and Config are files in place of what ssh would use.
	Identity   string `yaml:"identity" json:"identity,omitempty"`
	KnownHosts string `yaml:"known_hosts" json:"known_hosts,omitempty"`
	Config     string `yaml:"config" json:"config,omitempty"`
	// Sudo is for a user who is not root.
	Sudo bool `yaml:"sudo" json:"sudo,omitempty"`
	// Address by which the other hosts reach it; "" is the one that SSH led to.
	Address string `yaml:"address" json:"address,omitempty"`
}

// Destination of SSH.
func (h Host) Destination() host.Destination {
	return host.Destination{Host: h.SSH, Identity: h.Identity, KnownHosts: h.KnownHosts, Config: h.Config}
}

func resolveHosts(s section) map[string]Host {
	if s.IsNull() {
		return nil
	}
	hosts := map[string]Host{}
	for _, p := range s.Pairs() {
		if !environmentName.MatchString(p.Key) {
			p.Value.ProblemAtKey("%q is not a valid name of a host: use letters, digits and single dashes", p.Key)
		}
		var h Host
		p.Value.Decode(&h)
		if h.SSH == "" {
			p.Value.Problemf("ssh: is missing; write how to reach the host: user@name, or a Host of the ssh_config")
		} else if err := h.Destination().Validate(); err != nil {
			problemAt(p.Value, err, strictyaml.Node.Problemf)
		}
		if a, err := netip.ParseAddr(h.Address); h.Address != "" && (err != nil || !a.Is4()) {
			p.Value.At("address").Problemf("address: %q is not an IPv4 address", h.Address)
		}
		hosts[p.Key] = h
	}
	return hosts
}

// checkHost reports a name that is not a host of the study.
func checkHost(at strictyaml.Node, name string, hosts map[string]Host) bool {
	if _, known := hosts[name]; known {
		return true
	}
	if len(hosts) == 0 {
		at.Problemf("host: unknown host %q: the study defines none; add hosts: {%s: {ssh: user@name}}", name, name)
	} else {
		at.Problemf("host: %s", strictyaml.Unknown("host", name, slices.Sorted(maps.Keys(hosts))))
	}
	return false
}

// resolveNesting resolves inside:, system: and host: of environments. Paths of a system
// are relative to a directory.
func resolveNesting(s section, environments []Environment, hosts map[string]Host, directory string) {
	at := map[string]strictyaml.Node{}
	inside := map[string]string{}
	systems := map[string]image.System{}
	for _, p := range s.Pairs() {
		if node, given := p.Value.Get("inside"); given {
			outer, one, valid := readInside(node)
			if valid {
				at[p.Key], inside[p.Key] = node, outer
			}
			if keeps(environments, p.Key) {
				environments[indexOf(environments, p.Key)].OneMachine = one
			}
		}
		if node, given := p.Value.Get("system"); given {
			systems[p.Key] = resolveSystem(node, p, directory)
		}
		if node, given := p.Value.Get("host"); given && keeps(environments, p.Key) {
			i := indexOf(environments, p.Key)
			node.Decode(&environments[i].Host)
			checkHost(node, environments[i].Host, hosts)
			if both, given := p.Value.Get("inside"); given {
				both.Problemf("inside: %s also has host: %s; leave host: out, since an inner environment is on the host of its outer one", p.Key, environments[i].Host)
				delete(inside, p.Key)
			}
		}
	}
	whole := slices.Clone(environments) // an outer one stays in the plan where only the inner one is measured
	for i := range environments {
		name := environments[i].Name
		outer, nested := inside[name]
		if !nested {
			continue
		}
		if problem := nestingProblem(name, outer, inside, whole); problem != "" {
			at[name].Problemf("inside: %s", problem)
			continue
		}
		o := whole[indexOf(whole, outer)]
		o.System = systems[name]
		environments[i].Inside = &o
	}
}

// readInside reads the environment that another one is inside, and whether the instances of
// a workload share a machine there. What is not valid was reported.
func readInside(at strictyaml.Node) (outer string, one, valid bool) {
	if !at.IsMapping() {
		at.Decode(&outer)
		return outer, false, true
	}
	var form struct {
		One string `yaml:"one"`
	}
	at.Decode(&form)
	if form.One == "" {
		at.Problemf("inside: to have all instances of a workload in one machine, write {one: NAME}")
	}
	return form.One, true, form.One != ""
}

// resolveSystem reads the system of the machine that an environment is inside.
func resolveSystem(at strictyaml.Node, of strictyaml.Pair, directory string) (system image.System) {
	if outer, given := of.Value.Get("inside"); !given || outer.IsNull() {
		at.Problemf("system: is that of the machine which contains an environment: add inside: with the name of a virtual machine, or leave system: out")
		return system
	}
	at.Decode(&system)
	system = system.Absolute(directory)
	validate(at, system)
	return system
}

// nestingProblem is why an environment cannot run inside of another; "" where
// it can.
func nestingProblem(name, outer string, inside map[string]string, environments []Environment) string {
	if !keeps(environments, outer) {
		others := slices.DeleteFunc(environmentNames(environments), func(n string) bool { return n == name })
		return strictyaml.Unknown("environment", outer, others)
	}
	for path := []string{name}; ; {
		last := path[len(path)-1]
		next, more := inside[last]
		if !more {
			break
		}
		if path = append(path, next); slices.Contains(path[:len(path)-1], next) {
			return strings.Join(path, " is inside ") + ": this is a cycle"
		}
	}
	o := environments[indexOf(environments, outer)]
	_, known := environment.Lookup(o.Kind)
	switch {
	case !known:
		return "" // said already
	case !environment.CapabilitiesOf(o.Kind, nil).Hosts:
		return "the instances of " + outer + " (kind " + o.Kind + ") cannot contain other environments; those of these kinds can: " + strings.Join(hosting(), ", ")
	case inside[outer] != "":
		return outer + " is inside " + inside[outer] + " itself, and at most two levels are possible"
	case o.Host != "":
		return outer + " is on host " + o.Host + ", and only instances that are started here can contain others; write host: " + o.Host + " here to run beside it"
	}
	return ""
}

// hosting are the kinds whose instances are machines that others can run in.
func hosting() []string {
	return lists.Filter(environment.Kinds(), func(kind string) bool { return environment.CapabilitiesOf(kind, nil).Hosts })
}

func indexOf(environments []Environment, name string) int {
	return slices.IndexFunc(environments, func(e Environment) bool { return e.Name == name })
}

func keeps(environments []Environment, name string) bool { return indexOf(environments, name) >= 0 }

// readPlace reads where a role runs: one of workload.Places, {host: NAME} for a
// host of the study, or {apart: [NAME, ...]} for one instance on each. "" is
// invalid input that was reported.
func readPlace(at strictyaml.Node, hosts map[string]Host) (place string, on []string) {
	if !at.IsMapping() {
		at.Decode(&place)
		return place, nil
	}
	var form struct {
		Host  string   `yaml:"host"`
		Apart []string `yaml:"apart"`
	}
	at.Decode(&form)
	switch {
	case form.Host != "" && form.Apart == nil:
		if checkHost(at.At("host"), form.Host, hosts) {
			return workload.OnHost, []string{form.Host}
		}
	case form.Host == "" && len(form.Apart) > 0:
		known := true
		seen := map[string]bool{}
		for i, name := range form.Apart {
			known = checkHost(at.At("apart", i), name, hosts) && known
			if seen[name] {
				at.At("apart", i).Problemf("host %s is listed twice: instances on one host would share its addresses", name)
				known = false
			}
			seen[name] = true
		}
		if known {
			return workload.Apart, form.Apart
		}
	default:
		at.Problemf("to run a role on another host, write {host: NAME}; to run its instances on several, {apart: [NAME, ...]}")
	}
	return "", nil
}
