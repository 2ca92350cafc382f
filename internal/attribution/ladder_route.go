package attribution

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tare/internal/environment"
	"tare/internal/quantity"
	"tare/internal/study"
)

// route is the way from one environment to another: parts of the first one's
// kind, the crossing to the kind between, its parts, the crossing to the second
// one's kind, and its parts.
type route struct {
	facts *Facts
	at    *draft // where it has come to
	atoms []atom
	study map[string]map[string]string // of workloads, their parameters
	notes []string
	// first are the keys of the parts of which the kind has already been left:
	// they have to be on before anything of the next kind.
	first []string
}

func (r *route) note(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// lay goes the whole way.
func (r *route) lay(from, to study.Environment) error {
	end, err := begin(to)
	if err != nil {
		return err
	}
	if r.at, err = begin(from); err != nil {
		return err
	}
	r.limits(from.Limits, to.Limits)
	if from.Inside != nil && !sameInside(from, to) || from.Host != "" && from.Host != to.Host {
		r.place(to) // first, since what comes later may not run there
	}
	if err := r.cross(end); err != nil {
		return err
	}
	if !sameInside(r.at.Environment, to) || r.at.Host != to.Host {
		r.place(to)
	}
	r.parameters(from.With, to.With)
	got, err := r.at.environment()
	if err != nil {
		return fmt.Errorf("all parts together: %w", err)
	}
	want, err := end.environment()
	if err != nil {
		return err
	}
	if !same(got, want) {
		return fmt.Errorf("all parts together do not make %s: they make %s of %s", to.Name, got.Options, got.Kind)
	}
	return nil
}

func sameInside(a, b study.Environment) bool {
	one, _ := json.Marshal(a.Inside)
	two, _ := json.Marshal(b.Inside)
	return string(one) == string(two)
}

// cross goes from kind to kind.
func (r *route) cross(to *draft) error {
	from := r.at.clone()
	one, two, between, err := r.hubs(from, to)
	if err != nil {
		return err
	}
	switch {
	case between && one != nil && two != nil:
		if err := r.through(from, to, one, two); err != nil {
			return err
		}
	case from.Kind == to.Kind:
		r.steps(r.switches(to))
	default:
		r.outright(from, to)
	}
	return nil
}

// steps adds atoms of the present kind's options.
func (r *route) steps(candidates []atom) {
	list := arrange(r.at, candidates)
	for n := range list {
		old := list[n].Key
		list[n].Key = r.unique(old)
		for m := range list {
			for k, need := range list[m].Needs {
				if need == old {
					list[m].Needs[k] = list[n].Key
				}
			}
		}
	}
	for _, a := range list {
		a.Needs = append(slices.Clone(r.first), a.Needs...)
		r.add(a)
	}
}

// leap adds an atom that leads to another kind, and needs all that came before
// in this one.
func (r *route) leap(p Part, to *draft) {
	p.Key = r.unique(p.Key)
	kind, options := to.Kind, to.clone().options
	p.Needs = slices.Clone(r.first)
	for _, a := range r.atoms {
		if a.Group != limitsGroup && !slices.Contains(p.Needs, a.Key) {
			p.Needs = append(p.Needs, a.Key)
		}
	}
	r.add(atom{Part: p, apply: func(d *draft) {
		text, _ := json.Marshal(options) // it was read from JSON
		d.Kind = kind
		d.options, _ = treeOf(json.RawMessage(text))
	}})
	r.first = []string{p.Key}
}

func (r *route) add(a atom) {
	a.apply(r.at)
	r.atoms = append(r.atoms, a)
}

// unique is a key that no part has yet: the same option is switched in two kinds.
func (r *route) unique(key string) string {
	for n, one := 1, key; ; n++ {
		switch n {
		case 1:
		case 2:
			one = r.at.Kind + "." + key
		default:
			one = fmt.Sprintf("%s.%s.%d", r.at.Kind, key, n)
		}
		if find(r.atoms, one) < 0 {
			return one
		}
	}
}

// The groups of the parts that every kind has.
const (
	limitsGroup     = "limits"
	parametersGroup = "parameters"
	placeGroup      = "place"
	othersGroup     = "others"
)

// limits are the same in every environment of most studies; where they are not,
// each is a part. They come first, and hold in every rung after it.
func (r *route) limits(from, to environment.Limits) {
	one := func(key, name, before, after string, set func(*environment.Limits)) {
		if before == after {
			return
		}
		about := fmt.Sprintf("limits.%s: %s → %s", key, before, after)
		r.add(atom{
			Part:  Part{Key: limitsGroup + "." + key, Name: "limit of " + name, About: about, Switched: about, Group: limitsGroup},
			apply: func(d *draft) { set(&d.Limits) },
		})
	}
	number := func(n any, zero bool) string {
		if zero {
			return "none"
		}
		return fmt.Sprint(n)
	}
	memory := func(m quantity.Bytes) string { return number(m, m == 0) }
	one("cpus", "CPUs", number(from.CPUs, from.CPUs == 0), number(to.CPUs, to.CPUs == 0), func(l *environment.Limits) { l.CPUs = to.CPUs })
	one("memory", "memory", memory(from.Memory), memory(to.Memory), func(l *environment.Limits) { l.Memory = to.Memory })
	one("pids", "processes", number(from.PIDs, from.PIDs == 0), number(to.PIDs, to.PIDs == 0), func(l *environment.Limits) { l.PIDs = to.PIDs })
	one("cores", "cores", number(from.Cores, from.Cores == nil), number(to.Cores, to.Cores == nil), func(l *environment.Limits) { l.Cores = to.Cores })
	one("io", "disk I/O", number(from.IO, from.IO.None()), number(to.IO, to.IO.None()), func(l *environment.Limits) { l.IO = to.IO })
}

// place is where the environment runs: in another one, or on another host.
func (r *route) place(to study.Environment) {
	where := func(e study.Environment) string {
		switch {
		case e.Inside != nil:
			return "inside " + e.Inside.Name
		case e.Host != "":
			return "on " + e.Host
		}
		return "on this machine"
	}
	inside, host := to.Inside, to.Host
	before, after := where(r.at.Environment), where(to)
	p := Part{Key: r.unique("place"), Name: "place " + after, About: before + " → " + after, Switched: before + " → " + after, Group: placeGroup, Needs: slices.Clone(r.first)}
	r.add(atom{Part: p, apply: func(d *draft) { d.Inside, d.Host = inside, host }})
	r.first = []string{p.Key}
	r.note("%s: the step takes the whole of it; for its parts build the ladder to the environment that lies outside", after)
}

// parameters of workloads come last: they are what the study asks of the work in
// an environment, and no part of the environment.
func (r *route) parameters(from, to map[string]map[string]string) {
	workloads := map[string]bool{}
	for _, m := range []map[string]map[string]string{from, to} {
		for name := range m {
			workloads[name] = true
		}
	}
	for _, workload := range slices.Sorted(maps.Keys(workloads)) {
		keys := maps.Clone(from[workload])
		if keys == nil {
			keys = map[string]string{}
		}
		maps.Copy(keys, to[workload])
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			before, had := from[workload][key]
			after, has := to[workload][key]
			if had == has && before == after {
				continue
			}
			p := parameterPart(workload, key, r.given(workload, key, before, had), r.given(workload, key, after, has))
			p.Key = r.unique(p.Key)
			r.add(atom{Part: p, apply: func(d *draft) { parameter(d, workload, key, after, has) }})
		}
	}
}

// given is the value that holds in an environment: its own, or else the study's.
func (r *route) given(workload, key, value string, there bool) string {
	if !there {
		if value, there = r.study[workload][key]; !there {
			return "the study's value"
		}
	}
	return show(value)
}

func parameter(d *draft, workload, key, value string, there bool) {
	if d.With == nil {
		d.With = map[string]map[string]string{}
	}
	if d.With[workload] == nil {
		d.With[workload] = map[string]string{}
	}
	if d.With[workload][key] = value; !there {
		delete(d.With[workload], key)
	}
	if len(d.With[workload]) == 0 {
		delete(d.With, workload)
	}
}
