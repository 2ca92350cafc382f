package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/workload"
)

// fewCores is where a half of the cores is two: with fewer, whatever else runs on the
// machine, such as an engine, shares a core with driver or servers.
const fewCores = 4

// ShareCore lets the roles of a workload share the first of a machine's cores under
// AutoPin, if the machine has few. An environment with a quota of more than one core
// is to use more, and one that cannot be restricted to a core would not be like the rest.
func (p *Plan) ShareCore(cores []int) {
	wide := slices.ContainsFunc(p.Environments, func(e Environment) bool {
		return e.Limits.CPUs > 1 || environment.CapabilitiesOf(e.Kind, nil).NoCores
	})
	if p.AutoPin && !wide && len(cores) > 1 && len(cores) < fewCores {
		p.Core = &cores[0]
	}
}

// CoresOf returns the cores that the instances of an environment may use while a
// workload runs there; nil for all. Nested instances share those of the outer one.
func (p *Plan) CoresOf(e *Environment, w *Workload) []int {
	if e.Inside != nil || e.Limits.Cores != nil || !p.sharesCore(w) {
		return e.Limits.Cores
	}
	return []int{*p.Core}
}

// sharesCore reports whether no level of a workload needs more than one core, in any
// environment: one that used more than the others would not be compared with its like.
func (p *Plan) sharesCore(w *Workload) bool {
	if p.Core == nil || !p.Divides(*w) {
		return false
	}
	for _, l := range w.Levels {
		if slices.ContainsFunc(p.Environments, func(e Environment) bool { return !w.Pack.FitsOneCore(e.Parameters(w.Name, l)) }) {
			return false
		}
	}
	return true
}

// DrivesOnServersCore reports whether a workload's driver is on a core of the server that it drives.
func (p *Plan) DrivesOnServersCore(w *Workload) bool {
	if len(w.Pack.Servers) == 0 || w.Pack.Driver == nil {
		return false
	}
	server := p.Pin[cmp.Or(w.Pack.Servers[0].Role, "server")]
	return p.sharesCore(w) || slices.ContainsFunc(p.Pin[cmp.Or(w.Pack.Driver.Role, "driver")], func(core int) bool { return slices.Contains(server, core) })
}

// Divides reports whether the roles of a workload get cores of their own, or one
// together, without being pinned by name. Copies and neighbours compete for all cores.
func (p *Plan) Divides(w Workload) bool {
	return p.AutoPin && !slices.ContainsFunc(w.Levels, func(l Level) bool { return l.Instances > 1 || l.Neighbours > 0 })
}

// LateDrivers are remarks on workloads whose driver has to send at a given rate, and
// shares its core with the server.
func (p *Plan) LateDrivers() (remarks []string) {
	for _, w := range p.Workloads {
		if !p.sharesCore(&w) || w.Find == nil && !w.sendsAtRate() || len(w.Pack.Servers) == 0 {
			continue
		}
		server, driver := w.Pack.Servers[0].Role, w.Pack.Driver.Role
		remarks = append(remarks, fmt.Sprintf("workload %s: driver and server share core %d, and a driver that waits for the core sends late and sees answers late: give each a core, limits: {pin: {%s: [0], %s: [1]}}, or run the driver outside of the environment, place: {%s: host}", w.Name, *p.Core, server, driver, driver))
	}
	return remarks
}

// sendsAtRate reports whether the driver keeps a rate at a level.
func (w Workload) sendsAtRate() bool {
	return w.Pack.OpenLoop != nil && slices.ContainsFunc(w.Levels, func(l Level) bool {
		rate, _ := w.Pack.Rates(l.Parameters)
		return rate > 0
	})
}

// Pinned says which cores the roles of the plan's workloads run on; "" if on all.
func (p *Plan) Pinned() string {
	var parts []string
	for role, cores := range p.Pin {
		parts = append(parts, fmt.Sprintf("%s to core %s", role, cgroup.FormatCores(cores)))
	}
	slices.Sort(parts)
	auto := func(words string, does func(Workload) bool) {
		in := lists.Map(lists.Filter(p.Workloads, does), func(w Workload) string { return w.Name })
		switch len(in) {
		case 0:
			return
		case len(p.Workloads):
			in = nil
		default:
			words += " in "
		}
		parts = append(parts, "auto: "+words+strings.Join(in, ", "))
	}
	shares := func(w Workload) bool { return p.sharesCore(&w) }
	if slices.ContainsFunc(p.Workloads, shares) {
		auto(fmt.Sprintf("driver and servers to core %d", *p.Core), shares)
	}
	auto("driver and servers to a half of the cores each", func(w Workload) bool { return !shares(w) && p.divided(w) > 1 })
	auto("a driver alone to as many cores as it can use", func(w Workload) bool { return !shares(w) && p.divided(w) == 1 })
	return strings.Join(parts, ", ")
}

// divided is how many roles of a workload get cores of their own on a machine with many:
// none where a role runs elsewhere than the others.
func (p *Plan) divided(w Workload) (roles int) {
	if !p.Divides(w) {
		return 0
	}
	for _, l := range w.Levels {
		if pack, err := w.Pack.With(l.Parameters, workload.InstanceVars{}); err == nil {
			roles = max(roles, len(pack.Divide(make([]int, 1024))))
		}
	}
	return roles
}

// spareMemory is the part of the available memory that the instances of a block
// leave to the drivers, the engines and the page cache.
const spareMemory = 10 // a tenth

// Groups says which of these environments are in the same blocks for a workload
// at a level, apart from the baseline, which is in all of them. Where samples
// alternate, the instances of a block live at the same time: environments whose
// limits of memory exceed what was available when the run began take turns. An
// environment that does not even fit beside the baseline has a turn of its own.
func (p *Plan) Groups(w Workload, l Level, usable []string) [][]string {
	others := slices.DeleteFunc(slices.Clone(usable), func(name string) bool { return name == p.Baseline })
	if p.AvailableMemory == 0 || !p.together(w, l) || len(p.Steps) > 0 || w.Fresh == "run" {
		return [][]string{others} // a ladder compares neighbours; a run's instances live on
	}
	free := p.AvailableMemory - p.AvailableMemory/spareMemory - p.memoryOf(p.Baseline, l)
	var groups [][]string
	var left quantity.Bytes
	for _, name := range others {
		needs := p.memoryOf(name, l)
		if len(groups) == 0 || needs > left {
			groups, left = append(groups, nil), free
		}
		last := len(groups) - 1
		groups[last], left = append(groups[last], name), left-needs
	}
	if groups == nil {
		return [][]string{nil}
	}
	return groups
}

// Turns is how many blocks it takes until each of these environments had its turn
// in all workloads.
func (p *Plan) Turns(usable []string) int {
	turns := 1
	for _, w := range p.Workloads {
		for _, l := range w.Levels {
			turns = max(turns, len(p.Groups(w, l, usable)))
		}
	}
	return turns
}

// Fitting says which of these environments take turns, and which need more memory
// in one block than was available; nothing where all of them fit.
func (p *Plan) Fitting(usable []string) (remarks []string) {
	add := func(format string, values ...any) {
		if text := fmt.Sprintf(format, values...); !slices.Contains(remarks, text) {
			remarks = append(remarks, text)
		}
	}
	for _, w := range p.Workloads {
		for _, l := range w.Levels {
			if p.AvailableMemory == 0 || !p.together(w, l) {
				continue
			}
			groups := p.Groups(w, l, usable)
			if len(groups) > 1 {
				words := lists.Map(groups, func(names []string) string { return strings.Join(names, ", ") })
				add("%s: the limits of memory of all environments exceed the %s that is available, so they take turns of a block each beside %s: %s",
					strings.TrimSpace(w.Name+" "+l.Name), p.AvailableMemory, p.Baseline, strings.Join(words, "; "))
			}
			for _, group := range groups {
				needs := p.memoryOf(p.Baseline, l)
				for _, name := range group {
					needs += p.memoryOf(name, l)
				}
				if needs > p.AvailableMemory {
					add("%s: %s may use up to %s at the same time, and %s is available: set a smaller limits: memory, or order: interleaved",
						strings.TrimSpace(w.Name+" "+l.Name), strings.Join(append([]string{p.Baseline}, group...), ", "), needs, p.AvailableMemory)
				}
			}
		}
	}
	return remarks
}

// together says whether the instances of all environments of a block live at the
// same time: the last ones of a workload that starts several also serve the block's
// other workloads.
func (p *Plan) together(w Workload, l Level) bool {
	return p.Rounds(w, l) > 0 && w.Fresh != "trial"
}

// memoryOf is the limit of memory of all instances of an environment on this
// machine; 0 where they have none.
func (p *Plan) memoryOf(name string, l Level) quantity.Bytes {
	e := p.Environment(name)
	one := e.OneMachine
	if e.Inside != nil {
		e = e.Inside
	}
	if e.Host != "" {
		return 0
	}
	count := l.Shape.here()
	if one {
		count = l.Shape.copies()
	}
	return e.Limits.Memory * quantity.Bytes(count)
}

// copies is how many there are, with those of neighbours.
func (s Shape) copies() int {
	if s.Neighbours != nil {
		return s.Copies + s.Neighbours.copies()
	}
	return s.Copies
}

// here is how many instances there are on the environment's own host.
func (s Shape) here() (n int) {
	if s.Together {
		n++
	}
	for _, r := range s.Roles {
		if !r.OnHost && len(r.Hosts) == 0 {
			n += r.Count
		}
	}
	n *= s.Copies
	if s.Neighbours != nil {
		n += s.Neighbours.here()
	}
	return n
}
