package attribution

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/study"
)

// RestPart is the part that is whatever the named ones are not.
const RestPart = analysis.RestPart

// Unit is a part that gets an estimate of its own: one part of a ladder, or
// several that are switched at once.
type Unit struct {
	Part
	Keys []string // of the ladder's parts
}

// Units are the parts of a ladder, those of each of these groups as one where
// nothing that they need lies between them.
func Units(l Ladder, groups []string) []Unit {
	units := make([]Unit, len(l.Parts))
	for i, p := range l.Parts {
		units[i] = Unit{p, []string{p.Key}}
	}
	for _, g := range groups {
		if together, ok := gathered(units, g); ok {
			units = together
		}
	}
	return units
}

// gathered makes one unit of a group, at the place of its last member, if the
// needs of all units can then still be met.
func gathered(units []Unit, group string) ([]Unit, bool) {
	in := func(u Unit) bool { return u.Group == group }
	members := slices.Collect(func(yield func(Unit) bool) {
		for _, u := range units {
			if in(u) && !yield(u) {
				return
			}
		}
	})
	if len(members) < 2 {
		return units, false
	}
	one := Unit{Part: Part{Key: group, Name: group, Group: group, Subject: fmt.Sprintf("The %d parts of the group %s, switched together,", len(members), group), Many: true}}
	var about, switched []string
	for _, m := range members {
		one.Keys, one.Needs, about = append(one.Keys, m.Keys...), append(one.Needs, m.Needs...), append(about, m.About)
		switched = append(switched, m.Switched)
	}
	one.About, one.Switched = several(about...), several(switched...)
	one.Needs = outside(one.Needs, one.Keys)
	var left []Unit
	for _, u := range units {
		if !in(u) {
			left = append(left, u)
		}
	}
	for at := range len(left) + 1 {
		if list := slices.Insert(slices.Clone(left), at, one); inOrder(list) {
			return list, true
		}
	}
	return units, false
}

// outside are those of the keys that are none of mine, each once.
func outside(keys, mine []string) (kept []string) {
	for _, k := range keys {
		if !slices.Contains(mine, k) && !slices.Contains(kept, k) {
			kept = append(kept, k)
		}
	}
	return kept
}

// inOrder says whether each unit has all that it needs before it.
func inOrder(units []Unit) bool {
	on := map[string]bool{}
	for _, u := range units {
		if !u.ready(on) {
			return false
		}
		u.put(on)
	}
	return true
}

func (u Unit) ready(on map[string]bool) bool {
	return !slices.ContainsFunc(u.Needs, func(key string) bool { return !on[key] && !slices.Contains(u.Keys, key) })
}

func (u Unit) put(on map[string]bool) {
	for _, key := range u.Keys {
		on[key] = true
	}
}

// few is how many parts have all their orders tried: their subsets are at most
// sixteen environments.
const few = 4

// Orders are n random orders of the units, each with what it needs before it;
// all there are where the units are few, or no more than n. They follow from the
// seed. Where several units could be next, each is as likely.
func Orders(units []Unit, n int, seed uint64) (orders [][]int, all bool) {
	limit := n
	if len(units) <= few {
		limit = 24
	}
	if every := extensions(units, limit+1); len(every) <= limit {
		return every, true
	}
	rng := rand.New(rand.NewPCG(seed, 0x6f7264657273))
	for tries := 0; len(orders) < n && tries < 100*n; tries++ {
		var order []int
		on := map[string]bool{}
		for len(order) < len(units) {
			var next []int
			for i, u := range units {
				if !slices.Contains(order, i) && u.ready(on) {
					next = append(next, i)
				}
			}
			i := next[rng.IntN(len(next))]
			units[i].put(on)
			order = append(order, i)
		}
		if !slices.ContainsFunc(orders, func(o []int) bool { return slices.Equal(o, order) }) {
			orders = append(orders, order)
		}
	}
	return orders, false
}

// extensions are the orders in which each unit has what it needs before it, at
// most so many.
func extensions(units []Unit, most int) (orders [][]int) {
	var order []int
	on := map[string]bool{}
	var grow func()
	grow = func() {
		if len(orders) >= most {
			return
		}
		if len(order) == len(units) {
			orders = append(orders, slices.Clone(order))
			return
		}
		for i, u := range units {
			if slices.Contains(order, i) || !u.ready(on) {
				continue
			}
			order = append(order, i)
			u.put(on)
			grow()
			order = order[:len(order)-1]
			for _, key := range u.Keys {
				delete(on, key)
			}
		}
	}
	grow()
	return orders
}

// Design is what a run needs to estimate the parts: environments, what is
// compared, and what is to be kept in mind.
type Design struct {
	Environments []study.Environment // the first is from, the last is to
	Steps        []study.Step        // those of the parts, and the total
	Remarks      []string
}

// NewDesign makes the design of these orders of the units. Environments that the
// orders have in common are there once. missing says why an environment cannot
// be had here, "" for one that can: with one order its step then goes into the
// next one, with several the order is left out.
func NewDesign(l Ladder, units []Unit, orders [][]int, missing func(study.Environment) string) (Design, error) {
	d := Design{Remarks: slices.Clone(l.Notes)}
	first, last := l.Rungs[0], l.Rungs[len(l.Rungs)-1]
	for _, end := range []study.Environment{first, last} {
		if why := missing(end); why != "" {
			return d, fmt.Errorf("%s cannot be had on this machine: %s", end.Name, why)
		}
	}
	d.Environments = []study.Environment{first}
	number := 0
	for _, order := range orders {
		path, err := ascent(l, units, order)
		if err != nil {
			return d, err
		}
		lacking := slices.IndexFunc(path, func(r rung) bool { return missing(r.environment) != "" })
		if lacking >= 0 && len(orders) > 1 {
			d.remark("an order is left out, since %s cannot be had here: %s", path[lacking].environment.Name, missing(path[lacking].environment))
			continue
		}
		number++
		d.take(first, path, missing, number*min(1, len(orders)-1))
	}
	if number == 0 {
		return d, fmt.Errorf("no order of the parts has all its environments on this machine: %s", strings.Join(d.Remarks, "; "))
	}
	// The end stands last, whichever order came to it first.
	d.Environments = append(slices.DeleteFunc(d.Environments, func(e study.Environment) bool { return e.Name == last.Name }), last)
	d.Steps = append(d.Steps, study.Step{Name: "all parts", Environment: last.Name, Base: first.Name})
	return d, nil
}

// rung is an environment with the unit that was switched on last.
type rung struct {
	environment study.Environment
	unit        Unit
}

// ascent is the rungs of one order, without the first end.
func ascent(l Ladder, units []Unit, order []int) (path []rung, err error) {
	on := map[string]bool{}
	for _, i := range order {
		units[i].put(on)
		e, err := l.With(on)
		if err != nil {
			return nil, err
		}
		path = append(path, rung{e, units[i]})
	}
	return path, nil
}

// take adds the environments and steps of one order.
func (d *Design) take(base study.Environment, path []rung, missing func(study.Environment) string, order int) {
	var carried []Unit // switched in rungs that cannot be had
	for _, r := range path {
		if why := missing(r.environment); why != "" {
			carried = append(carried, r.unit)
			d.remark("the part %s is switched together with what follows it, since %s cannot be had here: %s", r.unit.Name, r.environment.Name, why)
			continue
		}
		p := merged(append(carried, r.unit))
		carried = nil
		if !slices.ContainsFunc(d.Environments, func(e study.Environment) bool { return e.Name == r.environment.Name }) {
			d.Environments = append(d.Environments, r.environment)
		}
		d.Steps = append(d.Steps, p.step(r.environment.Name, base.Name, order))
		base = r.environment
	}
}

func (d *Design) remark(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); !slices.Contains(d.Remarks, text) {
		d.Remarks = append(d.Remarks, text)
	}
}

// merged is one part made of units that are switched at once.
func merged(units []Unit) Part {
	p, named := units[0].Part, []string{units[0].Name}
	if len(units) == 1 {
		return p
	}
	p.Needs = nil
	for _, u := range units[1:] {
		p.Key, p.About, p.Switched, named = p.Key+"+"+u.Key, several(p.About, u.About), several(p.Switched, u.Switched), append(named, u.Name)
	}
	p.call(named)
	return p
}
