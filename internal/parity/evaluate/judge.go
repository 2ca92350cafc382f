// Package evaluate asks the rules of parity about a plan: which environments are
// compared with which, what the plan asks of each, and which contrasts a
// confound touches. It is a pure function of the plan and the fingerprints.
//
// It must not know how a fingerprint is taken, nor what the rules say.
package evaluate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/parity"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Book holds the fingerprints of a plan's environments.
type Book struct {
	plan   *study.Plan
	label  func(environment string) string
	rules  *parity.Rules
	prints map[[2]string]parity.Fingerprint // environment, workload
}

// New makes a book. label is what must stand beside an environment's figures,
// such as tcg.
func New(plan *study.Plan, prints []parity.Fingerprint, label func(environment string) string) *Book {
	b := &Book{plan: plan, label: label, rules: parity.Builtin(), prints: map[[2]string]parity.Fingerprint{}}
	for _, p := range prints {
		b.prints[[2]string{p.Environment, p.Workload}] = p
	}
	return b
}

// Between compares an environment with another one under a workload; false where
// one of them has no fingerprint.
func (b *Book) Between(environment, baseline, workload string) (parity.Comparison, bool) {
	base, known := b.prints[[2]string{baseline, workload}]
	other, also := b.prints[[2]string{environment, workload}]
	if !known || !also || environment == baseline {
		return parity.Comparison{}, false
	}
	stresses := ""
	if w := b.plan.Workload(workload); w != nil {
		stresses = w.Pack.Stresses
	}
	base, other = b.planned(base, baseline, workload), b.planned(other, environment, workload)
	return b.rules.Compare(b.side(baseline, workload), b.side(environment, workload), base, other, stresses), true
}

// All compares each environment with the one that the plan compares it with, in
// the order of the plan: environments, and within them workloads.
func (b *Book) All() (all []parity.Comparison) {
	for _, pair := range b.pairs() {
		for _, w := range b.plan.Workloads {
			if c, known := b.Between(pair[0], pair[1], w.Name); known {
				all = append(all, c)
			}
		}
	}
	return all
}

// pairs are the environments with what each is compared with: the baseline, or
// where steps are asked for, what those compare. Of a ladder only its two ends
// are: what lies between differs by what the study asks for.
func (b *Book) pairs() (pairs [][2]string) {
	whole := slices.ContainsFunc(b.plan.Steps, func(s study.Step) bool { return s.Part == "" })
	for _, s := range b.plan.Steps {
		if pair := [2]string{s.Environment, s.Base}; (s.Part == "" || !whole) && !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	if len(b.plan.Steps) > 0 {
		return pairs
	}
	for _, e := range b.plan.Environments {
		if e.Name != b.plan.Baseline {
			pairs = append(pairs, [2]string{e.Name, b.plan.Baseline})
		}
	}
	return pairs
}

// Mark adds a warning to each contrast that a confound touches. An environment
// that is compared with itself, at another level, is not touched.
func (b *Book) Mark(contrasts []verdict.Contrast) []verdict.Contrast {
	marked := slices.Clone(contrasts)
	names := map[[3]string]string{}
	for i := range marked {
		c := &marked[i]
		at := [3]string{c.Environment, c.Baseline, c.Workload}
		text, seen := names[at]
		if !seen {
			if compared, known := b.Between(c.Environment, c.Baseline, c.Workload); known {
				text = strings.Join(Names(compared.Confounds()), ", ")
			}
			names[at] = text
		}
		if text != "" {
			c.Warnings = append(slices.Clone(c.Warnings), verdict.Warning{Code: verdict.Confound,
				Text: fmt.Sprintf("something besides the layer differs from %s: %s", c.Baseline, text)})
		}
	}
	return marked
}

// Names are those of findings.
func Names(findings []parity.Finding) (names []string) {
	for _, f := range findings {
		names = append(names, f.Finding)
	}
	return names
}

// planned adds to a fingerprint what the plan alone knows: each parameter of the
// workload that any environment sets for itself. It may go by a file that nothing
// else looks at.
func (b *Book) planned(f parity.Fingerprint, name, workload string) parity.Fingerprint {
	w := b.plan.Workload(workload)
	i := slices.IndexFunc(b.plan.Environments, func(e study.Environment) bool { return e.Name == name })
	if w == nil || len(w.Levels) == 0 || i < 0 {
		return f
	}
	f.Facts = maps.Clone(f.Facts)
	if f.Facts == nil {
		f.Facts = map[string]parity.Fact{}
	}
	values := b.plan.Environments[i].Parameters(workload, w.Levels[0])
	for _, e := range b.plan.Environments {
		for parameter := range e.With[workload] {
			f.Facts["parameter["+parameter+"]"] = parity.Fact{Value: w.Pack.Parameters[parameter].Format(values[parameter]), Seen: parity.Planned}
		}
	}
	return f
}

// side is what the plan says of an environment under a workload, at the level
// that fingerprints are taken at: its first.
func (b *Book) side(name, workload string) parity.Side {
	s := parity.Side{Name: name, Label: b.label(name), Asked: map[string]string{}, Usual: map[string]string{}}
	i := slices.IndexFunc(b.plan.Environments, func(e study.Environment) bool { return e.Name == name })
	if i < 0 {
		return s
	}
	e := b.plan.Environments[i]
	s.Kind = e.Kind
	set, usual := e.OptionWords()
	if len(usual) == 0 {
		usual = set // of a kind that is not known here nobody can say what was asked
	}
	take(&s, "options.", set, usual)
	take(&s, "limits.", limits(e.Limits), limits(b.plan.Limits))
	if w := b.plan.Workload(workload); w != nil && len(w.Levels) > 0 {
		take(&s, "with.", e.Parameters(workload, w.Levels[0]), w.Levels[0].Parameters)
		if driver := w.Pack.Driver; driver != nil {
			s.Into = map[string][]string{"command[" + cmp.Or(driver.Role, "driver") + "]": driver.References()}
		}
	}
	if e.Inside != nil {
		s.Asked["inside"] = e.Inside.Name
	}
	if e.Host != "" {
		s.Asked["host"] = e.Host
	}
	return s
}

func take(s *parity.Side, before string, asked, usual map[string]string) {
	for key, value := range asked {
		s.Asked[before+key], s.Usual[before+key] = value, usual[key]
	}
}

// limits by the names that a study has for them.
func limits(l environment.Limits) map[string]string {
	words := map[string]string{"cpus": fmt.Sprint(l.CPUs), "memory": l.Memory.String(), "pids": fmt.Sprint(l.PIDs)}
	if io, err := json.Marshal(l.IO); err == nil {
		words["io"] = string(io)
	}
	return words
}
