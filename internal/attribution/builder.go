package attribution

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/study"
)

// builder collects the changes that lead from one environment to another: those of
// limits, of options, of the kind, of where it runs, and of workload parameters.
type builder struct {
	facts   func(kind string, options any) any
	at      *draft // the environment after the changes so far
	changes []change
	study   map[string]map[string]string // parameters of workloads
	notes   []string
	// before are the keys of the changes which left an earlier kind or host: every
	// later change needs them.
	before []string
	// passed are those of all changes up to an environment that the ladder passes.
	passed []string
}

func (b *builder) note(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	b.notes = lists.Add(b.notes, text)
}

// build collects all changes from one environment to the other. Where it is called again,
// from the latter to the next one, those need all changes before them.
func (b *builder) build(from, to study.Environment) error {
	b.passed = names(b.changes)
	b.before = slices.Clone(b.passed)
	end, err := begin(to)
	if err != nil {
		return err
	}
	if b.at, err = begin(from); err != nil {
		return err
	}
	b.limits(from.Limits, to.Limits)
	if from.Inside != nil && !sameInside(from, to) || from.Host != "" && from.Host != to.Host {
		b.place(to) // first, since what comes later may not run there
	}
	if err := b.cross(end); err != nil {
		return err
	}
	if !sameInside(b.at.Environment, to) || b.at.Host != to.Host {
		b.place(to)
	}
	b.parameters(from.With, to.With)
	got, err := b.at.environment()
	if err != nil {
		return fmt.Errorf("all parts together: %w", err)
	}
	want, err := end.environment()
	if err != nil {
		return err
	}
	if !same(got, want) {
		return fmt.Errorf("the parts together do not give %s: they give %s of kind %s (this is a bug in tare)", to.Name, got.Options, got.Kind)
	}
	return nil
}

func sameInside(a, b study.Environment) bool {
	one, _ := json.Marshal(a.Inside)
	two, _ := json.Marshal(b.Inside)
	return string(one) == string(two) && a.OneMachine == b.OneMachine
}

// switchOptions adds the changes of options within the draft's kind.
func (b *builder) switchOptions(to *draft) error {
	differing, err := b.optionChanges(to)
	if err != nil {
		return err
	}
	candidates := lists.Map(differing, optionChange)
	list := arrange(b.at, candidates)
	for n := range list {
		old := list[n].Key
		list[n].Key = b.unique(old)
		for m := range list {
			for k, need := range list[m].Needs {
				if need == old {
					list[m].Needs[k] = list[n].Key
				}
			}
		}
	}
	for _, c := range list {
		c.Needs = append(slices.Clone(b.before), c.Needs...)
		b.add(c)
	}
	return nil
}

// optionChanges are the changes from the draft's options to others of its kind, in
// the order in which the kind declares them.
func (b *builder) optionChanges(to *draft) (list []environment.Change, err error) {
	parts := b.at.parts()
	differing := differences(b.at.options, to.options)
	slices.SortStableFunc(differing, func(a, b delta) int { return cmp.Compare(parts.Position(a.path), parts.Position(b.path)) })
	for _, d := range differing {
		list = append(list, parts.Changes(d.path, d.before, d.after)...)
	}
	if parts.Regroup == nil {
		return list, nil
	}
	from, err := b.at.decode()
	if err != nil {
		return nil, err
	}
	end, err := to.decode()
	if err != nil {
		return nil, err
	}
	list, notes := parts.Regroup(from, end, list)
	for _, note := range notes {
		b.note("%s", note)
	}
	return list, nil
}

// changeKind adds the change to another kind, which needs all changes before it.
func (b *builder) changeKind(p Part, to *draft) {
	p.Key = b.unique(p.Key)
	kind, options := to.Kind, to.clone().options
	p.Needs = slices.Clone(b.before)
	for _, c := range b.changes {
		if c.Group != limitsGroup && !slices.Contains(p.Needs, c.Key) {
			p.Needs = append(p.Needs, c.Key)
		}
	}
	b.add(change{Part: p, apply: func(d *draft) {
		text, _ := json.Marshal(options) // it was read from JSON
		d.Kind = kind
		d.options, _ = treeOf(json.RawMessage(text))
	}})
	b.before = []string{p.Key}
}

func (b *builder) add(c change) {
	c.apply(b.at)
	b.changes = append(b.changes, c)
}

// unique returns a key that no change has yet: an option can be switched in two kinds.
func (b *builder) unique(key string) string {
	for n, one := 1, key; ; n++ {
		switch n {
		case 1:
		case 2:
			one = b.at.Kind + "." + key
		default:
			one = fmt.Sprintf("%s.%s.%d", b.at.Kind, key, n)
		}
		if find(b.changes, one) < 0 {
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

// limits adds a change for each limit that differs. They come first, so that every
// later rung has them.
func (b *builder) limits(from, to environment.Limits) {
	one := func(key, name, before, after string, set func(*environment.Limits)) {
		if before == after {
			return
		}
		about := fmt.Sprintf("limits.%s: %s → %s", key, before, after)
		b.add(change{
			Part:  Part{Key: b.unique(limitsGroup + "." + key), Name: "limit of " + name, About: about, Switched: about, Group: limitsGroup, Needs: slices.Clone(b.passed)},
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

// place adds the change of where the environment runs: in another environment, or on
// another host.
func (b *builder) place(to study.Environment) {
	where := func(e study.Environment) string {
		switch {
		case e.Inside != nil:
			return e.InsideOf()
		case e.Host != "":
			return "on " + e.Host
		}
		return "on this machine"
	}
	inside, one, host := to.Inside, to.OneMachine, to.Host
	otherSystem := inside != nil && b.at.Inside != nil && inside.Name == b.at.Inside.Name && one == b.at.OneMachine
	before, after := where(b.at.Environment), where(to)
	p := Part{Key: b.unique("place"), Name: "place " + after, About: before + " → " + after, Switched: before + " → " + after, Group: placeGroup, Needs: slices.Clone(b.before)}
	b.add(change{Part: p, apply: func(d *draft) { d.Inside, d.OneMachine, d.Host = inside, one, host }})
	b.before = []string{p.Key}
	if otherSystem {
		b.note("%s: this is one step; for its parts add an environment with the one's suite and the other's kernel to the study", after)
		return
	}
	b.note("%s: this is one step; for its parts build a ladder to the outer environment", after)
}

// parameters adds the changes of workload parameters. They come last: they belong
// to the workload and not to the isolation layer.
func (b *builder) parameters(from, to map[string]map[string]string) {
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
			p := parameterPart(workload, key, b.given(workload, key, before, had), b.given(workload, key, after, has))
			p.Key, p.Needs = b.unique(p.Key), slices.Clone(b.passed)
			b.add(change{Part: p, apply: func(d *draft) { parameter(d, workload, key, after, has) }})
		}
	}
}

// given is the value that applies in an environment: its own, or else the study's.
func (b *builder) given(workload, key, value string, there bool) string {
	if !there {
		if value, there = b.study[workload][key]; !there {
			return "the study's value"
		}
	}
	return environment.OptionText(value)
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
