package attribution

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/environment/docker"
	"tare/internal/environment/native"
	"tare/internal/environment/oci"
)

// hub is what an environment comes to without what only its own kind has: the
// same isolation, made by a runtime alone. All of a container's parts can be
// switched there.
type hub struct {
	// own is the environment of its own kind that comes closest to it.
	own     *draft
	options oci.Options
	// free says that nothing speaks for one runtime or another.
	free bool
	// loose are the options that mean nothing to it.
	loose []string
	// leap is the step between own and the runtime.
	leap Part
}

// containers are the kinds that have a hub.
var containers = []string{"native", "oci", "docker", "podman", "gvisor"}

// hubs are those of both ends. Between says that the way leads through them: where
// the kinds differ, or one is gVisor and the other is not.
func (r *route) hubs(from, to *draft) (one, two *hub, between bool, err error) {
	if !slices.Contains(containers, from.Kind) || !slices.Contains(containers, to.Kind) {
		return nil, nil, false, nil
	}
	if one, err = r.hub(from); err == nil {
		two, err = r.hub(to)
	}
	if err != nil {
		return nil, nil, false, err
	}
	return one, two, from.Kind != to.Kind || from.Kind == "oci" || gvisor(one.options) != gvisor(two.options), nil
}

func (r *route) hub(d *draft) (*hub, error) {
	h := &hub{own: d.clone()}
	var err error
	switch d.Kind {
	case "native":
		o := native.Defaults()
		if err = decode(d.options, &o); err == nil {
			r.native(h, o)
		}
	case "docker", "podman":
		var o docker.Options
		if err = decode(d.options, &o); err == nil {
			r.engine(h, o)
		}
	case "gvisor":
		var o docker.GvisorOptions
		if err = decode(d.options, &o); err == nil {
			r.gvisor(h, o)
		}
	default:
		h.options = oci.Default()
		err = decode(d.options, &h.options)
	}
	return h, err
}

// native has the study's limits in a group of its own, and so has every rung.
func (r *route) native(h *hub, o native.Options) {
	h.options, h.free = oci.Bare(), true
	h.options.Limits, h.options.Root, h.options.Data, h.options.Network = true, o.Root, o.Data, o.Network
	if o.Network == "loopback" {
		h.own.options.set("network", "host")
		h.options.Network = "host"
	}
	h.own.options.set("rootfs", "image")
	h.leap = Part{Key: "runtime", Name: "start by a runtime", Group: "runtime",
		About: "the agent is started by an OCI runtime, which isolates nothing yet"}
}

// engine is a container of Docker or Podman. The driver of the log, published
// ports and volumes are the engine's own, and are switched in it.
func (r *route) engine(h *hub, o docker.Options) {
	h.options = oci.Default()
	h.options.Seccomp, h.options.Data, h.options.Network, h.options.Log = o.Seccomp, o.Data, o.Network, "pipe"
	h.options.Namespaces.Cgroup = r.facts.CgroupNamespaces
	if !r.facts.CgroupNamespaces {
		r.note("cgroup namespace: engines give none on cgroup v1")
	}
	h.own.options.set("log", "none")
	if o.Data == "volume" {
		h.own.options.set("data", "bind")
		h.options.Data = "bind"
	}
	if o.Network == "publish" {
		h.own.options.set("network", "bridge")
		h.own.options.set("ports", nil)
		h.options.Network = "bridge"
	}
	kind := h.own.Kind
	if kind == "podman" {
		h.options.Capabilities = podmans
	}
	r.runtime(h, kind, o.Socket, o.Runtime)
	h.leap = Part{Key: RestPart, Name: "engine and shim of " + kind, Group: "engine",
		About: "the engine makes the same container, with its shim, its storage and its stream of the output"}
	r.note("AppArmor and SELinux: the runtime is given no profile, so what one costs under %s is in its rest", kind)
}

// podmans are the capabilities that Podman gives.
const podmans = "chown,dac_override,fowner,fsetid,kill,net_bind_service,setfcap,setgid,setpcap,setuid,sys_chroot"

// runtime is the one that an engine starts.
func (r *route) runtime(h *hub, kind, socket, name string) {
	program, arguments, err := r.facts.Runtime(kind, socket, name)
	if err != nil {
		program = name
		if name == "" {
			program = map[string]string{"docker": "runc", "podman": "crun"}[kind]
		}
		r.note("%s could not be asked for its runtime (%v): %s is taken for it", kind, err, program)
	}
	h.options.Runtime = program
	if gvisor(oci.Options{Runtime: program}) {
		h.sandbox(arguments)
		return
	}
	h.options.RuntimeArgs = arguments
}

// gvisor is runsc, by an engine or by itself.
func (r *route) gvisor(h *hub, o docker.GvisorOptions) {
	if r.facts.Gvisor(o) == "docker" {
		c := docker.Options{Socket: o.Socket, Runtime: o.Runtime, Network: o.Network, Log: "none", Seccomp: "default", Data: o.Data}
		if c.Network == "" {
			c.Network = "bridge"
		}
		h.options = oci.Default()
		h.options.Data, h.options.Network, h.options.Log = c.Data, c.Network, "pipe"
		if c.Data == "volume" {
			h.own.options.set("data", "bind")
			h.options.Data = "bind"
		}
		r.runtime(h, "docker", o.Socket, o.Runtime)
		h.leap = Part{Key: RestPart, Name: "engine and shim of docker", Group: "engine",
			About: "Docker makes the same sandbox, with its shim, its storage and its stream of the output"}
		return
	}
	h.options = o.Direct()
	h.sandbox(nil)
	h.options.Platform = o.Platform
	h.leap = Part{Key: RestPart, Name: "start of gvisor", Group: "engine", About: "the same sandbox as the kind gvisor makes it"}
}

// sandbox makes a hub gVisor's. What its kernel has for itself, or takes for each
// sandbox, is not switched.
func (h *hub) sandbox(arguments []string) {
	h.options.Platform = "systrap"
	h.options.RuntimeArgs = nil
	for _, a := range arguments {
		if value, found := strings.CutPrefix(a, "--platform="); found {
			h.options.Platform = value
			continue
		}
		h.options.RuntimeArgs = append(h.options.RuntimeArgs, a)
	}
	h.loose = []string{"namespaces.mount", "namespaces.pid", "namespaces.ipc", "namespaces.uts", "namespaces.cgroup", "namespaces.user",
		"namespaces.time", "devices", "masked", "capabilities", "no_new_privs", "seccomp"}
	if h.options.Network == "host" {
		h.options.Gvisor.Netstack = false // it has none there
	}
}

func gvisor(o oci.Options) bool {
	return o.Platform != "" || strings.Contains(filepath.Base(o.Runtime), "runsc")
}

// through goes to the first end's hub, over its switches to the second's, and from
// there.
func (r *route) through(from, to *draft, one, two *hub) error {
	first, second, err := agree(one, two)
	if err != nil {
		return err
	}
	if from.Kind != "oci" {
		r.steps(r.switches(one.own))
		p := one.leap
		if p.Key == RestPart {
			p.Key, p.Name, p.About = "engine-off", "absence of the engine of "+from.Kind, "the same container, made by the runtime alone"
		}
		r.leap(p, r.in("oci", first))
	}
	r.steps(r.isolation(first, second))
	if to.Kind != "oci" {
		p := two.leap
		if to.Kind == "native" {
			p = Part{Key: RestPart, Name: "absence of the runtime", Group: "runtime", About: "the agent is started by tare itself"}
		}
		r.leap(p, two.own)
		r.steps(r.switches(to))
	}
	return nil
}

// in is the draft with the options of another kind.
func (r *route) in(kind string, options tree) *draft {
	d := r.at.clone()
	d.Kind, d.options = kind, options
	return d
}

// agree gives each hub what means nothing to it as the other has it, so that
// nothing is switched that nobody feels.
func agree(one, two *hub) (first, second tree, err error) {
	switch sandboxes := [2]bool{gvisor(one.options), gvisor(two.options)}; {
	case one.free && !sandboxes[1]:
		one.options.Runtime, one.options.RuntimeArgs = two.options.Runtime, two.options.RuntimeArgs
	case two.free && !sandboxes[0]:
		two.options.Runtime, two.options.RuntimeArgs = one.options.Runtime, one.options.RuntimeArgs
	}
	if first, err = treeOf(one.options); err == nil {
		second, err = treeOf(two.options)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the options of the runtime: %w", err)
	}
	a, b := first.leaves(), second.leaves()
	for _, path := range two.loose {
		second.set(path, a[path])
	}
	for _, path := range one.loose {
		if !slices.Contains(two.loose, path) {
			first.set(path, b[path])
		}
	}
	return first, second, nil
}
