// Package attribution makes the design by which the parts of an isolation layer
// are told apart: a ladder of environments between two, of which each step
// switches one part, and the orders in which the parts can be switched. The
// package analysis below it reads from a run what each part costs.
//
// It must not start anything, nor know how a part works: it asks the kinds of
// environments for their options.
package attribution

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tare/internal/strictyaml"
	"tare/internal/study"
)

// Part is one part of a layer that can be switched on alone.
type Part struct {
	Key   string `json:"key"`   // namespaces.pid
	Name  string `json:"name"`  // for people: pid namespace
	About string `json:"about"` // what is switched: namespaces.pid: false → true
	// Switched is what is switched and no more, where About may tell what that does:
	// it is said of a part that makes something cheaper, of which that is no cause.
	Switched string `json:"switched,omitempty"`
	Group    string `json:"group"` // namespaces
	// Subject begins a sentence about the part where "The NAME" would not. Many says
	// that it is plural; without a subject the name tells.
	Subject string `json:"subject,omitempty"`
	Many    bool   `json:"many,omitempty"`
	// Needs are the keys of the parts that must be on before.
	Needs []string `json:"needs,omitempty"`
}

// Ladder is from, to, and the rungs between.
type Ladder struct {
	Rungs []study.Environment // the first is from, the last is to; names are unique
	Steps []study.Step        // Steps[i] compares Rungs[i+1] with Rungs[i]
	Parts []Part              // of the steps, in order
	Notes []string            // what cannot be switched apart here, and why

	from, to study.Environment
	atoms    []atom           // in the order in which they are applied
	members  map[string][]int // part → its atoms
}

// BuildOptions choose among the parts.
type BuildOptions struct {
	// Only are keys or groups of parts that get a step each. What lies between two
	// of them is switched in one step of its own, so that it costs the others
	// nothing; the rest always has one. nil: all.
	Only []string
	// Order has keys in the order to switch; what it does not name follows in the
	// usual order. nil: the usual order alone.
	Order []string
	// Study has the values that the study gives a workload's parameters, by the
	// workload: they hold in an environment that says nothing of them.
	Study map[string]map[string]string
	// Facts of the machine and its engines; nil: this machine is asked.
	Facts *Facts
}

// Build makes the ladder between two environments of a plan.
func Build(from, to study.Environment, o BuildOptions) (Ladder, error) {
	if from.Name == to.Name {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: both have the same name; name the second otherwise, as with kind: below another name", from.Name, to.Name)
	}
	r := &route{facts: o.Facts, study: o.Study}
	if r.facts == nil {
		r.facts = ThisMachine()
	}
	if err := r.lay(from, to); err != nil {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: %w", from.Name, to.Name, err)
	}
	l := Ladder{from: from, to: to, atoms: r.atoms, Notes: r.notes}
	if len(l.atoms) == 0 {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: the two do not differ in anything", from.Name, to.Name)
	}
	order, err := ordered(l.atoms, o.Order)
	if err != nil {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: %w", from.Name, to.Name, err)
	}
	if err := l.group(order, o.Only); err != nil {
		return Ladder{}, fmt.Errorf("a ladder from %s to %s: %w", from.Name, to.Name, err)
	}
	return l, l.climb()
}

// group makes the parts out of the atoms in the order in which they are switched.
func (l *Ladder) group(order []int, only []string) error {
	for _, name := range only {
		if !slices.ContainsFunc(l.atoms, func(a atom) bool { return a.Key == name || a.Group == name }) {
			return unknown("part or group", name, names(l.atoms), groups(l.atoms))
		}
	}
	kept := func(a atom) bool {
		return only == nil || a.Key == RestPart || slices.Contains(only, a.Key) || slices.Contains(only, a.Group)
	}
	l.members = map[string][]int{}
	in := make([]string, len(l.atoms)) // atom → its part
	var between []int
	several := 0
	add := func(list ...int) {
		p := l.atoms[list[0]].Part
		if len(list) > 1 {
			several++
			p = together(l.atoms, list, several)
		}
		p.Needs = nil
		l.members[p.Key] = list
		for _, n := range list {
			in[n] = p.Key
		}
		for _, n := range list {
			for _, key := range l.atoms[n].Needs {
				if need := in[find(l.atoms, key)]; need != p.Key && !slices.Contains(p.Needs, need) {
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
		if kept(l.atoms[n]) {
			flush()
			add(n)
			continue
		}
		between = append(between, n)
	}
	flush()
	return nil
}

// CheckGroups says whether all of these are groups of the ladder's parts.
func (l Ladder) CheckGroups(list []string) error {
	known := groups(l.atoms)
	for _, name := range list {
		if !slices.Contains(known, name) {
			return fmt.Errorf("a ladder from %s to %s: %w", l.from.Name, l.to.Name, unknown("group", name, nil, known))
		}
	}
	return nil
}

// unknown is the mistake of a name that is none of these.
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

// together is the n-th part that is made of several.
func together(atoms []atom, list []int, n int) Part {
	var keys, named []string
	for _, at := range list {
		keys, named = append(keys, atoms[at].Key), append(named, atoms[at].Name)
	}
	p := Part{Key: fmt.Sprintf("others-%d", n), About: strings.Join(keys, ", "), Group: othersGroup}
	p.Switched = p.About
	p.call(named)
	return p
}

// climb makes the rungs and steps.
func (l *Ladder) climb() error {
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
		l.Steps = append(l.Steps, p.step(rung.Name, base.Name, 0))
	}
	return nil
}

// With makes the environment that has exactly these parts on, for other orders.
// Without any it is from, with all it is to; the same parts give the same name
// whatever the order in which they came. The needs of each part have to be on as
// well.
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
	case len(l.atoms):
		return l.to, nil
	}
	d, err := begin(l.from)
	if err != nil {
		return study.Environment{}, err
	}
	for n, a := range l.atoms {
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

// name of an environment: of a rung, its place and what was switched last; of
// another set of parts, which these are.
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
	return fmt.Sprintf("%02d-%s", count, slug(l.Parts[count-1].Key))
}

// slug is what an environment may be called after a key.
func slug(key string) string {
	words := strings.FieldsFunc(key[strings.LastIndex(key, ".")+1:], func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	})
	return strings.ToLower(strings.Join(words, "-"))
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

// same says whether two environments differ in nothing but their names.
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
