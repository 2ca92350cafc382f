package attribution

import (
	"slices"
)

// machines are the kinds that boot the image, and how each is made as light as it
// can be: what of its options is switched after it.
var machines = map[string]func(tree){
	"qemu": func(o tree) {
		o.set("machine", "microvm")
		o.set("cache", "unsafe")
		for _, key := range []string{"root_cache", "data_cache", "root_aio", "data_aio"} {
			o.set(key, nil)
		}
		o.set("aio", "threads")
		o.set("disk_device", "virtio-blk")
		if o["network"] == "nat" {
			o.set("network", "bridge")
		}
	},
	"firecracker":      tapped,
	"cloud-hypervisor": tapped,
}

func tapped(o tree) {
	if o["network"] == "nat" {
		o.set("network", "tap")
	}
}

// bridged are the networks of a machine that lie at a bridge, as native's can.
var bridged = []string{"bridge", "tap", "nat"}

// outright goes from one kind to another that have no kind between: as close to
// each other as their own options lead, and then in one step.
func (r *route) outright(from, to *draft) {
	near := func(d, other *draft) *draft {
		d = d.clone()
		if lighten := machines[d.Kind]; lighten != nil {
			lighten(d.options)
			if !d.valid() {
				return nil
			}
			return d
		}
		network, _ := other.options["network"].(string)
		if d.Kind == "native" && machines[other.Kind] != nil && slices.Contains(bridged, network) && (d.options["network"] == "host" || d.options["network"] == "loopback") {
			d.options.set("network", "bridge")
		}
		return d
	}
	first, second := near(from, to), near(to, from)
	if first == nil {
		first = from
	}
	if second == nil {
		second = to
	}
	r.steps(r.switches(first))
	p := Part{Key: RestPart, Name: "change of kind to " + to.Kind, Group: "kind", About: to.Kind + " in place of " + from.Kind}
	p.Switched = p.About
	switch one, two := machines[from.Kind] != nil, machines[to.Kind] != nil; {
	case two && !one:
		p.Key, p.Name, p.Group = "vm", "virtual machine", "vm"
		p.About = "a kernel of its own on virtual processors and virtio devices, in place of " + from.Kind
		r.note("the guest's kernel, its virtual processors and its virtio devices are one step: a guest cannot do without any of them")
	case one && !two:
		p.Key, p.Name, p.Group = "vm", "absence of the virtual machine", "vm"
	default:
		r.note("between %s and %s no parts are known that can be switched alone: the step is all of the difference", from.Kind, to.Kind)
	}
	if machines[from.Kind] != nil || machines[to.Kind] != nil {
		r.note("nested paging is a setting of the host's KVM module for all guests at once (kvm_intel ept=0, kvm_amd npt=0): no trial can switch it, and under software emulation there is none")
	}
	r.leap(p, second)
	r.steps(r.switches(to))
}
