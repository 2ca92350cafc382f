// Package attribution designs experiments that separate the costs of the parts of
// an isolation layer: a ladder of environments between two, each of which differs
// from the one before in one part, and the orders in which the parts are switched.
// Package analysis, below it, computes from a run what each part costs.
//
// It must not start anything, import a kind of environment or know one by name: a
// kind declares its parts in its registration (environment.Parts).
package attribution

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/study"
)

// Part is one part of an isolation layer that can be switched on separately.
type Part = environment.Part

// Ladder is a sequence of environments (rungs) between two ends.
type Ladder struct {
	Rungs []study.Environment // the first is from, the last is to; names are unique
	Steps []study.Step        // Steps[i] compares Rungs[i+1] with Rungs[i]
	Parts []Part              // of the steps, in order
	Notes []string            // what cannot be switched separately here, and why

	from, to study.Environment
	changes  []change                  // in the order in which they are applied
	members  map[string][]int          // part → its changes
	passed   map[int]study.Environment // number of the first changes → what is there with them
}

// BuildOptions choose among the parts.
type BuildOptions struct {
	// Only are keys or groups of parts that get a step each. The parts between two
	// of them are switched together in another step, so that their cost is not
	// added to a named part. RestPart always has a step. nil: all parts.
	Only []string
	// Order has keys of parts in the order in which they are switched; parts that it
	// does not list follow in the default order.
	Order []string
	// Via are environments that the ladder passes on its way, in this order.
	Via []study.Environment
	// Study has the workload parameters that the study sets, by workload and
	// parameter. They apply in an environment that does not set them itself.
	Study map[string]map[string]string
	// Facts replaces environment.Parts.Facts, for tests; nil: the kind gets its facts
	// from this machine.
	Facts func(kind string, options any) any
}

// Build makes the ladder between two environments of a plan.
func Build(from, to study.Environment, o BuildOptions) (Ladder, error) {
	if from.Name == to.Name {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: both have the same name; give the second one another name and set its kind: in the study", from.Name, to.Name)
	}
	b := &builder{facts: o.Facts, study: o.Study}
	passed := map[int]study.Environment{}
	for at, next := range pairsOf(slices.Concat([]study.Environment{from}, o.Via, []study.Environment{to})) {
		if err := b.build(at, next); err != nil {
			return Ladder{}, fmt.Errorf("a ladder from %s to %s: %w", at.Name, next.Name, err)
		}
		passed[len(b.changes)] = next
	}
	l := Ladder{from: from, to: to, changes: b.changes, Notes: b.notes, passed: passed}
	if len(l.changes) == 0 {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: the two environments do not differ", from.Name, to.Name)
	}
	order, err := ordered(l.changes, o.Order)
	if err != nil {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: %w", from.Name, to.Name, err)
	}
	if err := l.group(order, o.Only); err != nil {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: %w", from.Name, to.Name, err)
	}
	return l, l.addRungs()
}

// pairsOf yields each environment with the next one.
func pairsOf(list []study.Environment) func(yield func(at, next study.Environment) bool) {
	return func(yield func(at, next study.Environment) bool) {
		for n := range list[1:] {
			if !yield(list[n], list[n+1]) {
				return
			}
		}
	}
}

// group makes parts of the changes, in the order in which they are switched.
func (l *Ladder) group(order []int, only []string) error {
	for _, name := range only {
		if !slices.ContainsFunc(l.changes, func(c change) bool { return c.Key == name || c.Group == name }) {
			return unknown("part or group", name, names(l.changes), groups(l.changes))
		}
	}
	kept := func(c change) bool {
		return only == nil || c.Key == RestPart || slices.Contains(only, c.Key) || slices.Contains(only, c.Group)
	}
	l.members = map[string][]int{}
	in := make([]string, len(l.changes)) // change → its part
	var between []int
	several := 0
	add := func(list ...int) {
		p := l.changes[list[0]].Part
		if len(list) > 1 {
			several++
			p = together(l.changes, list, several)
		}
		p.Needs = nil
		l.members[p.Key] = list
		for _, n := range list {
			in[n] = p.Key
		}
		for _, n := range list {
			for _, key := range l.changes[n].Needs {
				if need := in[find(l.changes, key)]; need != p.Key && !slices.Contains(p.Needs, need) {
					p.Needs = append(p.Needs, need)
				}
			}
		}
		l.Parts = append(l.Parts, p)
	}
	flush := func() {
		if len(between) > 0 {
			add(between...)
			between = nil
		}
	}
	for _, n := range order {
		if kept(l.changes[n]) {
			flush()
			add(n)
			continue
		}
		between = append(between, n)
	}
	flush()
	return nil
}

// CheckGroups returns an error if the ladder's parts have no group of one of the names.
func (l Ladder) CheckGroups(list []string) error {
	known := groups(l.changes)
	for _, name := range list {
		if !slices.Contains(known, name) {
			return fmt.Errorf("a ladder from %s to %s: %w", l.from.Name, l.to.Name, unknown("group", name, nil, known))
		}
	}
	return nil
}

// unknown is the error for a name that is not one of these.
func unknown(what, name string, parts, groups []string) error {
	text := fmt.Sprintf("there is no %s %s", what, name)
	if near := strictyaml.Nearest(name, slices.Concat(parts, groups)); near != "" {
		text += "; did you mean " + near + "?"
	}
	if text += " (groups: " + strings.Join(groups, ", "); parts != nil {
		text += "; parts: " + strings.Join(parts, ", ")
	}
	return errors.New(text + ")")
}

// together is the n-th part that combines several changes.
func together(changes []change, list []int, n int) Part {
	var keys, named []string
	for _, at := range list {
		keys, named = append(keys, changes[at].Key), append(named, changes[at].Name)
	}
	p := Part{Key: fmt.Sprintf("others-%d", n), About: strings.Join(keys, ", "), Group: othersGroup}
	p.Switched = p.About
	nameTogether(&p, named)
	return p
}

// addRungs makes the rungs and steps of the default order.
func (l *Ladder) addRungs() error {
	on := map[string]bool{}
	l.Rungs = []study.Environment{l.from}
	for _, p := range l.Parts {
		on[p.Key] = true
		rung, err := l.With(on)
		if err != nil {
			return err
		}
		base := l.Rungs[len(l.Rungs)-1]
		l.Rungs = append(l.Rungs, rung)
		l.Steps = append(l.Steps, step(p, rung.Name, base.Name, 0))
	}
	return nil
}

// With returns the environment that has exactly these parts on: the first end
// without any, the second one with all. The same parts give an environment of the
// same name in any order. The needs of each part have to be on as well.
func (l Ladder) With(parts map[string]bool) (study.Environment, error) {
	for key, on := range parts {
		if _, known := l.members[key]; on && !known {
			return study.Environment{}, fmt.Errorf("the ladder from %s to %s has no part %s", l.from.Name, l.to.Name, key)
		}
	}
	on, prefix := map[int]bool{}, 0
	for n, p := range l.Parts {
		if !parts[p.Key] {
			continue
		}
		for _, need := range p.Needs {
			if !parts[need] {
				return study.Environment{}, fmt.Errorf("the part %s needs %s, which is off", p.Key, need)
			}
		}
		for _, a := range l.members[p.Key] {
			on[a] = true
		}
		if prefix == n {
			prefix++
		}
	}
	switch len(on) {
	case 0:
		return l.from, nil
	case len(l.changes):
		return l.to, nil
	}
	if e, is := l.passed[len(on)]; is && firsts(on) {
		return e, nil
	}
	d, err := begin(l.from)
	if err != nil {
		return study.Environment{}, err
	}
	for n, a := range l.changes {
		if on[n] {
			a.apply(d)
		}
	}
	e, err := d.environment()
	if err != nil {
		return study.Environment{}, fmt.Errorf("the environment with %s: %w", list(parts), err)
	}
	e.Name = l.name(parts, prefix)
	return e, nil
}

// firsts says whether a set of n numbers is that of the first n.
func firsts(set map[int]bool) bool {
	for n := range len(set) {
		if !set[n] {
			return false
		}
	}
	return true
}

// name of an environment: its number and the part that was switched last, for a
// rung of the default order; else the set of parts.
func (l *Ladder) name(parts map[string]bool, prefix int) string {
	count, bits := 0, make([]byte, (len(l.Parts)+7)/8)
	for n, p := range l.Parts {
		if parts[p.Key] {
			count++
			bits[len(bits)-1-n/8] |= 1 << (n % 8)
		}
	}
	if count != prefix {
		return fmt.Sprintf("set-%x", bits)
	}
	key := l.Parts[count-1].Key
	return fmt.Sprintf("%02d-%s", count, study.DirectoryName(key[strings.LastIndex(key, ".")+1:], ""))
}

func list(parts map[string]bool) string {
	var keys []string
	for key, on := range parts {
		if on {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

// same reports whether two environments are equal but for their names.
func same(a, b study.Environment) bool {
	var one, two any
	if json.Unmarshal(a.Options, &one) != nil || json.Unmarshal(b.Options, &two) != nil || !reflect.DeepEqual(one, two) {
		return false
	}
	a.Name, b.Name, a.Options, b.Options = "", "", nil, nil
	first, _ := json.Marshal(a)
	second, _ := json.Marshal(b)
	return string(first) == string(second)
}
