package attribution

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/environment"
)

// change is the smallest change of an environment that a ladder can make: one
// part, unless parts are grouped.
type change struct {
	Part
	apply func(*draft)
	also  []string // keys of the changes that were joined with it
}

// optionChange is a change of options, as a kind declares it.
func optionChange(c environment.Change) change {
	return change{Part: c.Part, apply: func(d *draft) {
		for option, value := range c.Set {
			d.options.set(option, value)
		}
	}}
}

func names(changes []change) []string {
	return lists.Map(changes, func(a change) string { return a.Key })
}

// groups of the changes, each once.
func groups(changes []change) (list []string) {
	for _, a := range changes {
		list = lists.Add(list, a.Group)
	}
	return list
}

func find(changes []change, key string) int {
	return slices.IndexFunc(changes, func(c change) bool { return c.is(key) })
}

func (c change) is(key string) bool { return c.Key == key || slices.Contains(c.also, key) }

// ordered returns the indexes of the changes in the order in which they are
// switched: the named ones first.
func ordered(changes []change, keys []string) (order []int, err error) {
	for _, key := range keys {
		n := find(changes, key)
		switch {
		case n < 0:
			return nil, fmt.Errorf("order: there is no part %s; the parts are %s", key, strings.Join(names(changes), ", "))
		case slices.Contains(order, n):
			return nil, fmt.Errorf("order: %s is listed twice", key)
		}
		order = append(order, n)
	}
	// What a named change needs, and order does not name, comes right before it.
	var whole []int
	var take func(n int, wanted string) error
	take = func(n int, wanted string) error {
		if slices.Contains(whole, n) {
			return nil
		}
		for _, key := range changes[n].Needs {
			need := find(changes, key)
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
		if err := take(n, changes[n].Key); err != nil {
			return nil, err
		}
	}
	for n := range changes {
		if err := take(n, ""); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// arrange sorts changes of one kind's options into an order in which the kind
// accepts the options after each change, and computes what each change needs.
// Changes that the kind accepts only together are joined.
func arrange(base *draft, candidates []change) (list []change) {
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

// next returns the first change, or else the first two, after which the kind
// accepts the options; all of them where neither is enough.
func next(at *draft, rest []change) []int {
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

// joinTexts joins the descriptions of parts that are switched together, without
// the empty ones.
func joinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// joined is one change made of two that the kind accepts only together.
func joined(a, b change) change {
	first, second := a.apply, b.apply
	a.apply = func(d *draft) { first(d); second(d) }
	a.About, a.Switched = joinTexts(a.About, b.About), joinTexts(a.Switched, b.Switched)
	a.Needs = append(slices.Clone(a.Needs), b.Needs...)
	a.also = append(append(slices.Clone(a.also), b.Key), b.also...)
	return a
}

// needs returns the keys of the changes that have to be on before the n-th: those
// that it declares, if the kind then accepts it together with every earlier change;
// else those and one more, or all earlier ones.
func needs(base *draft, list []change, n int) []string {
	own := slices.DeleteFunc(slices.Clone(list[n].Needs), func(key string) bool { return find(list, key) < 0 || list[n].is(key) })
	for m, key := range own {
		own[m] = list[find(list, key)].Key
	}
	if acceptedWith(base, list, n, own) {
		return own
	}
	for _, a := range list[:n] {
		if more := append(slices.Clone(own), a.Key); acceptedWith(base, list, n, more) {
			return more
		}
	}
	return names(list[:n])
}

// acceptedWith reports whether the kind accepts the n-th change with these needs,
// alone and together with each earlier change.
func acceptedWith(base *draft, list []change, n int, needs []string) bool {
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
