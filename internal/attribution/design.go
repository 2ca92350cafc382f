package attribution

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/study"
)

// RestPart is the part that no named part explains.
const RestPart = analysis.RestPart

// Unit is a part that gets a separate estimate: one part of a ladder, or several
// that are switched together.
type Unit struct {
	Part
	Keys []string // of the ladder's parts
}

// Units are the parts of a ladder. The parts of each of these groups are one unit,
// unless a part outside the group has to be switched between them.
func Units(l Ladder, groups []string) []Unit {
	units := lists.Map(l.Parts, func(p Part) Unit { return Unit{p, []string{p.Key}} })
	for _, g := range groups {
		if together, ok := mergeGroup(units, g); ok {
			units = together
		}
	}
	return units
}

// mergeGroup makes one unit of a group, at the first position where the needs of
// all units are met; false where there is none.
func mergeGroup(units []Unit, group string) ([]Unit, bool) {
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
	one.About, one.Switched = joinTexts(about...), joinTexts(switched...)
	one.Needs = outside(one.Needs, one.Keys)
	left := lists.Filter(units, func(u Unit) bool { return !in(u) })
	for at := range len(left) + 1 {
		if list := slices.Insert(slices.Clone(left), at, one); inOrder(list) {
			return list, true
		}
	}
	return units, false
}

// outside returns the keys that are not among mine, each once.
func outside(keys, mine []string) (kept []string) {
	for _, k := range keys {
		if !slices.Contains(mine, k) && !slices.Contains(kept, k) {
			kept = append(kept, k)
		}
	}
	return kept
}

// inOrder reports whether each unit comes after all that it needs.
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

// maxAllOrders is the number of units up to which every order is tried: their subsets
// are at most sixteen environments.
const maxAllOrders = 4

// Orders returns n random orders of the units in which each unit comes after what
// it needs, or all such orders where there are few. The seed determines them.
//
// The mean of a part's estimates over random orders is the sampling estimator of its
// Shapley value (Shapley 1953, "A value for n-person games", Contributions to the
// Theory of Games II; Castro, Gómez and Tejada 2009, "Polynomial calculation of the
// Shapley value based on sampling", Computers & Operations Research 36). With needs
// only linear extensions of the partial order count, as in Faigle and Kern 1992,
// "The Shapley value for cooperative games under precedence constraints",
// International Journal of Game Theory 21. They weigh all linear extensions the
// same; here each unit that could be next is equally likely, which can weigh
// extensions differently where units have needs.
func Orders(units []Unit, n int, seed uint64) (orders [][]int, all bool) {
	limit := n
	if len(units) <= maxAllOrders {
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

// extensions returns at most that many linear extensions: orders in which each unit
// comes after what it needs.
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

// Design is what a run needs to estimate the parts: the environments, and which of
// them are compared.
type Design struct {
	Environments []study.Environment // the first is from, the last is to
	Steps        []study.Step        // those of the parts, and the total
	Remarks      []string            // limits of the design
}

// NewDesign makes the design for these orders of the units. An environment that
// several orders share is measured once. missing returns why an environment does not
// work on this machine, "" for one that works: with one order its step is then
// merged with the next one, with several the order is left out.
func NewDesign(l Ladder, units []Unit, orders [][]int, missing func(study.Environment) string) (Design, error) {
	d := Design{Remarks: slices.Clone(l.Notes)}
	first, last := l.Rungs[0], l.Rungs[len(l.Rungs)-1]
	for _, end := range []study.Environment{first, last} {
		if why := missing(end); why != "" {
			return d, fmt.Errorf("%s does not work on this machine: %s", end.Name, why)
		}
	}
	d.Environments = []study.Environment{first}
	number := 0
	for _, order := range orders {
		path, err := rungsOf(l, units, order)
		if err != nil {
			return d, err
		}
		lacking := slices.IndexFunc(path, func(r rung) bool { return missing(r.environment) != "" })
		if lacking >= 0 && len(orders) > 1 {
			d.remark("an order is left out, since %s does not work here: %s", path[lacking].environment.Name, missing(path[lacking].environment))
			continue
		}
		number++
		d.addOrder(first, path, missing, number*min(1, len(orders)-1))
	}
	if number == 0 {
		return d, fmt.Errorf("no order of the parts has only environments that work on this machine: %s", strings.Join(d.Remarks, "; "))
	}
	// The second end comes last, whichever order added it.
	d.Environments = append(slices.DeleteFunc(d.Environments, func(e study.Environment) bool { return e.Name == last.Name }), last)
	d.Steps = append(d.Steps, study.Step{Name: "all parts", Environment: last.Name, Base: first.Name})
	return d, nil
}

// rung is an environment with the unit that was switched last.
type rung struct {
	environment study.Environment
	unit        Unit
}

// rungsOf returns the rungs of one order, without the first end.
func rungsOf(l Ladder, units []Unit, order []int) (path []rung, err error) {
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

func (d *Design) addOrder(base study.Environment, path []rung, missing func(study.Environment) string, order int) {
	var pending []Unit // switched in rungs that do not work here
	for _, r := range path {
		if why := missing(r.environment); why != "" {
			pending = append(pending, r.unit)
			d.remark("the part %s is switched together with the next one, since %s does not work here: %s", r.unit.Name, r.environment.Name, why)
			continue
		}
		p := merged(append(pending, r.unit))
		pending = nil
		if !slices.ContainsFunc(d.Environments, func(e study.Environment) bool { return e.Name == r.environment.Name }) {
			d.Environments = append(d.Environments, r.environment)
		}
		d.Steps = append(d.Steps, step(p, r.environment.Name, base.Name, order))
		base = r.environment
	}
}

func (d *Design) remark(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); !slices.Contains(d.Remarks, text) {
		d.Remarks = append(d.Remarks, text)
	}
}

// merged is one part made of units that are switched together.
func merged(units []Unit) Part {
	p, named := units[0].Part, []string{units[0].Name}
	if len(units) == 1 {
		return p
	}
	p.Needs = nil
	for _, u := range units[1:] {
		p.Key, p.About, p.Switched, named = p.Key+"+"+u.Key, joinTexts(p.About, u.About), joinTexts(p.Switched, u.Switched), append(named, u.Name)
	}
	nameTogether(&p, named)
	return p
}
