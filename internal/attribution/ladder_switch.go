package attribution

import (
	"cmp"
	"slices"

	"tare/internal/environment/oci"
)

// stairs are values of an option that lie on the way to each other: to go from
// the first to the last takes a step each.
var stairs = map[string][][]string{
	"native.network": {{"host", "bridge", "nat"}},
	"oci.network":    {{"host", "bridge", "nat"}},
	"docker.network": {{"host", "bridge", "nat"}, {"host", "bridge", "publish"}},
	"podman.network": {{"host", "bridge", "nat"}, {"host", "bridge", "publish"}},
	"oci.log":        {{"null", "pipe", "file"}, {"null", "pipe", "json-file"}},
	"qemu.cache":     {{"unsafe", "writeback", "none", "directsync"}},
	"qemu.network":   {{"none", "bridge", "nat"}},
}

// climbed are the values from one to another, without the first.
func climbed(kind, path string, before, after any) []any {
	one, _ := before.(string)
	two, _ := after.(string)
	for _, values := range stairs[kind+"."+path] {
		i, j := slices.Index(values, one), slices.Index(values, two)
		if i < 0 || j < 0 {
			continue
		}
		var way []any
		for i != j {
			if i < j {
				i++
			} else {
				i--
			}
			way = append(way, values[i])
		}
		return way
	}
	return []any{after}
}

// switches are the parts in which the options of one kind differ, in the usual
// order.
func (r *route) switches(to *draft) (candidates []atom) {
	changes := differences(r.at.options, to.options)
	slices.SortStableFunc(changes, func(a, b delta) int { return cmp.Compare(usual(r.at.Kind, a.path), usual(r.at.Kind, b.path)) })
	for _, c := range changes {
		candidates = append(candidates, r.stepwise(c)...)
	}
	return candidates
}

// stepwise are the parts of one option's change.
func (r *route) stepwise(c delta) (list []atom) {
	before := c.before
	stepped := len(stairs[r.at.Kind+"."+c.path]) > 0
	for _, after := range climbed(r.at.Kind, c.path, c.before, c.after) {
		p := part(r.at.Kind, delta{c.path, before, after})
		if stepped {
			p.Key = c.path + "." + show(after)
		}
		if len(list) > 0 {
			p.Needs = []string{list[len(list)-1].Key}
		}
		value := after
		list = append(list, atom{Part: p, apply: func(d *draft) { d.options.set(c.path, value) }})
		before = after
	}
	return list
}

// usual is an option's place in the order: those of the oci kind are as its
// switches are, after the runtime, those of machines from the processor outwards, and
// all others by their names.
func usual(kind, path string) int {
	if kind == "oci" {
		return slices.IndexFunc(oci.Switches, func(s oci.Switch) bool { return s.Key == path })
	}
	return slices.Index(otherOrder, path)
}

var otherOrder = []string{
	"accel", "model", "cpus", "memory", "machine", "kernel_args",
	"root_disk", "data_disk", "cache", "root_cache", "data_cache", "aio", "root_aio", "data_aio", "disk_device", "network", "ports",
}
