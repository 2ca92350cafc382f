// Package evaluate applies the rules of parity to a plan: which environments are
// compared, how the plan configures each, and which contrasts a confound affects.
// It is a pure function of the plan and the fingerprints.
//
// It must not know how a fingerprint is taken, nor the contents of the rules.
package evaluate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// Book holds the fingerprints of a plan's environments. It is for one goroutine at a time.
type Book struct {
	plan   *study.Plan
	label  func(environment string) string
	rules  *parity.Rules
	prints map[subject.Cell][]parity.Fingerprint // by environment and workload, one a node
	clocks map[subject.Cell]string               // how fast each ran, as a fact
	// confounds are those that were asked for before.
	confounds map[compared][]parity.Finding
}

// New returns a book, with what the trials show of clocks. label returns the label of an
// environment, such as tcg.
func New(plan *study.Plan, prints []parity.Fingerprint, trials []rundir.Trial, label func(environment string) string) *Book {
	rules := *parity.Builtin()
	rules.Accepted = plan.Accept
	b := &Book{plan: plan, label: label, rules: &rules, prints: map[subject.Cell][]parity.Fingerprint{}, confounds: map[compared][]parity.Finding{}, clocks: clocks(plan, trials)}
	for _, p := range prints {
		at := subject.Cell{Environment: p.Environment, Workload: p.Workload}
		b.prints[at] = append(b.prints[at], p)
	}
	return b
}

// Between compares an environment with another one for a workload at a level, or the first
// one, on the first node where both have a fingerprint; false if there is none. Fingerprints
// are those of the first level, with what the plan says of this one.
func (b *Book) Between(at subject.Cell, baseline string) (parity.Comparison, bool) {
	if at.Environment == baseline {
		return parity.Comparison{}, false
	}
	from, first := at.In(baseline), subject.Cell{Environment: at.Environment, Workload: at.Workload}
	for _, base := range b.prints[first.In(baseline)] {
		for _, other := range b.prints[first] {
			if base.Node == other.Node {
				return b.rules.Compare(b.side(from), b.side(at), b.with(base, from), b.with(other, at), b.stresses(at.Workload)), true
			}
		}
	}
	return parity.Comparison{}, false
}

func (b *Book) stresses(workload string) string {
	if w := b.plan.Workload(workload); w != nil {
		return w.Pack.Stresses
	}
	return ""
}

// Nodes compares the nodes of a run: what differs between fingerprints of the same
// environment with the same workload.
func (b *Book) Nodes() parity.Nodes {
	var pairs [][]parity.Fingerprint
	for _, e := range b.plan.Environments {
		for _, w := range b.plan.Workloads {
			pairs = append(pairs, b.prints[subject.Cell{Environment: e.Name, Workload: w.Name}])
		}
	}
	return parity.AcrossNodes(pairs, func(a, other parity.Fingerprint) (facts []string) {
		side := b.side(subject.Cell{Environment: a.Environment, Workload: a.Workload})
		for _, f := range b.rules.Compare(side, side, a, other, b.stresses(a.Workload)).Findings {
			for _, d := range f.Differences {
				facts = append(facts, d.Fact)
			}
		}
		return facts
	})
}

// All makes all comparisons of the plan, in its order: by environment, and within
// one by workload.
func (b *Book) All() (all []parity.Comparison) {
	for _, pair := range b.pairs() {
		for _, w := range b.plan.Workloads {
			if c, known := b.Between(subject.Cell{Environment: pair.environment, Workload: w.Name}, pair.base); known {
				all = append(all, c)
			}
		}
	}
	return all
}

type pair struct{ environment, base string }

// pairs returns the environments with what each is compared with: the baseline,
// or the base of its step. Of a ladder only the two ends are compared, since its
// steps differ by what the study asks for.
func (b *Book) pairs() (pairs []pair) {
	whole := slices.ContainsFunc(b.plan.Steps, func(s study.Step) bool { return s.Part == "" })
	for _, s := range b.plan.Steps {
		if p := (pair{s.Environment, s.Base}); (s.Part == "" || !whole) && !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	if len(b.plan.Steps) > 0 {
		return pairs
	}
	for _, e := range b.plan.Environments {
		if e.Name != b.plan.Baseline {
			pairs = append(pairs, pair{e.Name, b.plan.Baseline})
		}
	}
	return pairs
}

// Mark adds a warning to each contrast that a confound affects, and takes the verdict of
// those that it makes meaningless: the one place where that is decided. A contrast of an
// environment with itself, at another level, has none.
func (b *Book) Mark(contrasts []verdict.Contrast) []verdict.Contrast {
	marked := slices.Clone(contrasts)
	for i := range marked {
		c := &marked[i]
		if confounds := b.affecting(c.Figure().Cell, c.Baseline); len(confounds) > 0 {
			c.Warnings = append(slices.Clone(c.Warnings), verdict.Warning{Code: verdict.Confound, Other: c.Baseline, Confounds: Names(confounds)})
			if names := Names(lists.Filter(confounds, func(f parity.Finding) bool { return f.NoVerdict })); len(names) > 0 {
				c.Withhold(names)
			}
		}
	}
	return marked
}

// affecting are the confounds that affect the comparison of an environment with another one.
func (b *Book) affecting(at subject.Cell, baseline string) []parity.Finding {
	key := compared{at, baseline}
	confounds, seen := b.confounds[key]
	if !seen {
		if c, known := b.Between(at, baseline); known {
			confounds = c.Confounds()
		}
		b.confounds[key] = confounds
	}
	return confounds
}

// compared is a cell and what it is compared with.
type compared struct {
	at       subject.Cell
	baseline string
}

// Names returns the names of findings.
func Names(findings []parity.Finding) []string {
	return lists.Map(findings, func(f parity.Finding) string { return f.Finding })
}

// planned are the facts that only the plan has: each parameter of the workload that any
// environment sets (with:), or that a rule asks for.
func (b *Book) planned(at subject.Cell) map[string]parity.Fact {
	e, w, level := b.find(at)
	if e == nil || level == nil {
		return nil
	}
	facts, values := map[string]parity.Fact{}, e.Parameters(at.Workload, *level)
	add := func(parameter string) {
		facts["parameter["+parameter+"]"] = parity.Fact{Value: w.Pack.Parameters[parameter].Format(values[parameter]), Seen: parity.Planned}
	}
	for _, parameter := range b.rules.Parameters() {
		if _, has := w.Pack.Parameters[parameter]; has {
			add(parameter)
		}
	}
	for _, e := range b.plan.Environments {
		for parameter := range e.With[at.Workload] {
			add(parameter)
		}
	}
	return facts
}

// with adds to a fingerprint what the plan says.
func (b *Book) with(f parity.Fingerprint, at subject.Cell) parity.Fingerprint {
	facts := maps.Clone(f.Facts)
	if facts == nil {
		facts = map[string]parity.Fact{}
	}
	maps.Copy(facts, b.planned(at))
	if rate, known := b.clocks[at]; known {
		facts[parity.ClockRate] = parity.Fact{Value: rate, Seen: parity.Outside}
	}
	f.Facts = facts
	return f
}

// find is what the plan has of a cell, nil where it has none; without a level that is the
// first one.
func (b *Book) find(at subject.Cell) (e *study.Environment, w *study.Workload, level *study.Level) {
	if i := slices.IndexFunc(b.plan.Environments, func(e study.Environment) bool { return e.Name == at.Environment }); i >= 0 {
		e = &b.plan.Environments[i]
	}
	if w = b.plan.Workload(at.Workload); w == nil || len(w.Levels) == 0 {
		return e, w, nil
	}
	i := slices.IndexFunc(w.Levels, func(l study.Level) bool { return l.Name == at.Level })
	return e, w, &w.Levels[max(i, 0)]
}

// side returns the settings of an environment for a workload at a level.
func (b *Book) side(at subject.Cell) parity.Side {
	s := parity.Side{Name: at.Environment, Label: b.label(at.Environment), Asked: map[string]string{}, Usual: map[string]string{}}
	e, w, level := b.find(at)
	if e == nil {
		return s
	}
	s.Kind = e.Kind
	set, usual := e.OptionWords()
	if len(usual) == 0 {
		usual = set // the defaults of an unknown kind are not known
	}
	addSettings(&s, "options.", set, usual)
	addSettings(&s, "limits.", limits(e.Limits), limits(b.plan.Limits))
	if level != nil {
		addSettings(&s, "with.", e.Parameters(at.Workload, *level), level.Parameters)
		if driver := w.Pack.Driver; driver != nil {
			s.Into = map[string][]string{"command[" + cmp.Or(driver.Role, "driver") + "]": driver.References()}
		}
	}
	if e.Inside != nil {
		s.Asked["inside"] = e.Inside.Name
		if e.OneMachine {
			s.Asked["inside"] = "one " + e.Inside.Name
		}
	}
	if e.Host != "" {
		s.Asked["host"] = e.Host
	}
	return s
}

func addSettings(s *parity.Side, before string, asked, usual map[string]string) {
	for key, value := range asked {
		s.Asked[before+key], s.Usual[before+key] = value, usual[key]
	}
}

// limits returns the limits by their YAML keys.
func limits(l environment.Limits) map[string]string {
	words := map[string]string{"cpus": fmt.Sprint(l.CPUs), "memory": l.Memory.String(), "pids": fmt.Sprint(l.PIDs)}
	if io, err := json.Marshal(l.IO); err == nil {
		words["io"] = string(io)
	}
	return words
}

// Only filters comparisons by names of environments, if any is among the names,
// and of workloads, if any is.
func Only(plan *study.Plan, names []string, all []parity.Comparison) []parity.Comparison {
	named := func(name string) bool { return slices.Contains(names, name) }
	environments := slices.ContainsFunc(plan.Environments, func(e study.Environment) bool { return named(e.Name) })
	workloads := slices.ContainsFunc(plan.Workloads, func(w study.Workload) bool { return named(w.Name) })
	return slices.DeleteFunc(slices.Clone(all), func(c parity.Comparison) bool {
		return environments && !named(c.Environment) || workloads && !named(c.Workload)
	})
}
