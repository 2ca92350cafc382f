package attribution

import (
	"fmt"
	"slices"
	"strings"
)

// atom is the least that can be switched.
type atom struct {
	Part
	apply func(*draft)
	also  []string // the keys of those that became one with it
}

func names(atoms []atom) (keys []string) {
	for _, a := range atoms {
		keys = append(keys, a.Key)
	}
	return keys
}

// groups are those of the atoms, each once.
func groups(atoms []atom) (list []string) {
	for _, a := range atoms {
		if !slices.Contains(list, a.Group) {
			list = append(list, a.Group)
		}
	}
	return list
}

func find(atoms []atom, key string) int {
	return slices.IndexFunc(atoms, func(a atom) bool { return a.is(key) })
}

func (a atom) is(key string) bool { return a.Key == key || slices.Contains(a.also, key) }

// ordered are the places of the atoms in the order in which they are switched.
func ordered(atoms []atom, keys []string) (order []int, err error) {
	for _, key := range keys {
		n := find(atoms, key)
		switch {
		case n < 0:
			return nil, fmt.Errorf("order: there is no part %s: it has %s", key, strings.Join(names(atoms), ", "))
		case slices.Contains(order, n):
			return nil, fmt.Errorf("order: %s stands there twice", key)
		}
		order = append(order, n)
	}
	// What the named ones need and nobody named comes right before them.
	var whole []int
	var take func(n int, wanted string) error
	take = func(n int, wanted string) error {
		if slices.Contains(whole, n) {
			return nil
		}
		for _, key := range atoms[n].Needs {
			need := find(atoms, key)
			if slices.Contains(order, need) && !slices.Contains(whole, need) && wanted != "" {
				return fmt.Errorf("order: %s needs %s before it", wanted, key)
			}
			if err := take(need, wanted); err != nil {
				return err
			}
		}
		whole = append(whole, n)
		return nil
	}
	for _, n := range order {
		if err := take(n, atoms[n].Key); err != nil {
			return nil, err
		}
	}
	for n := range atoms {
		if err := take(n, ""); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// arrange puts atoms of one kind's options into an order in which each state on
// the way is one that the kind takes, and finds out what each needs. Those that
// the kind takes only at once become one.
func arrange(base *draft, candidates []atom) (list []atom) {
	at := base.clone()
	rest := slices.Clone(candidates)
	for len(rest) > 0 {
		taken := next(at, rest)
		one := rest[taken[0]]
		for _, n := range taken[1:] {
			one = joined(one, rest[n])
		}
		one.apply(at)
		list = append(list, one)
		for _, n := range slices.Backward(taken) {
			rest = slices.Delete(rest, n, n+1)
		}
	}
	for n := range list {
		list[n].Needs = needs(base, list, n)
	}
	return list
}

// next are the first atoms, as few as can be, after which the kind takes the
// options; all of them where no few will do.
func next(at *draft, rest []atom) []int {
	ready := func(n int) bool {
		return !slices.ContainsFunc(rest[n].Needs, func(key string) bool { return find(rest, key) >= 0 })
	}
	try := func(list ...int) bool {
		d := at.clone()
		for _, n := range list {
			rest[n].apply(d)
		}
		return d.valid()
	}
	for n := range rest {
		if ready(n) && try(n) {
			return []int{n}
		}
	}
	for n := range rest {
		for m := n + 1; m < len(rest); m++ {
			if ready(n) && ready(m) && try(n, m) {
				return []int{n, m}
			}
		}
	}
	all := make([]int, len(rest))
	for n := range all {
		all[n] = n
	}
	return all
}

// several are what is said of parts that are switched at once; of one that says
// nothing, nothing.
func several(said ...string) string {
	return strings.Join(slices.DeleteFunc(said, func(text string) bool { return text == "" }), "; ")
}

// joined are two atoms that go only together.
func joined(a, b atom) atom {
	first, second := a.apply, b.apply
	a.apply = func(d *draft) { first(d); second(d) }
	a.About, a.Switched = several(a.About, b.About), several(a.Switched, b.Switched)
	a.Needs = append(slices.Clone(a.Needs), b.Needs...)
	a.also = append(append(slices.Clone(a.also), b.Key), b.also...)
	return a
}

// needs are the atoms without which the n-th cannot be: those that it names, and
// else the one before it, or all, with which the kind takes it beside any other.
func needs(base *draft, list []atom, n int) []string {
	own := slices.DeleteFunc(slices.Clone(list[n].Needs), func(key string) bool { return find(list, key) < 0 || list[n].is(key) })
	for m, key := range own {
		own[m] = list[find(list, key)].Key
	}
	if beside(base, list, n, own) {
		return own
	}
	for _, a := range list[:n] {
		if more := append(slices.Clone(own), a.Key); beside(base, list, n, more) {
			return more
		}
	}
	return names(list[:n])
}

// beside says whether the kind takes the n-th atom and what it needs, alone and
// together with each that comes before it.
func beside(base *draft, list []atom, n int, needs []string) bool {
	whole := func(start ...int) map[int]bool {
		on := map[int]bool{}
		var add func(m int)
		add = func(m int) {
			if on[m] {
				return
			}
			on[m] = true
			wanted := list[m].Needs
			if m == n {
				wanted = needs
			}
			for _, key := range wanted {
				add(find(list, key))
			}
		}
		for _, m := range start {
			add(m)
		}
		return on
	}
	for m := range n + 1 {
		d, on := base.clone(), whole(n, m)
		for k, a := range list {
			if on[k] {
				a.apply(d)
			}
		}
		if !d.valid() {
			return false
		}
	}
	return true
}
