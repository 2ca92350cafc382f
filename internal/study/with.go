package study

import (
	"maps"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

// resolveWith reads with:, the parameters of workloads that differ in an
// environment, of the study and then of its scale.
func (p *Plan) resolveWith(environments, scaled section) {
	for i := range p.Environments {
		e := &p.Environments[i]
		for _, s := range []section{environments, scaled} {
			if at, given := s.Get(e.Name, "with"); given {
				p.takeWith(e, at)
			}
		}
	}
}

func (p *Plan) workloadNames() []string {
	return lists.Map(p.Workloads, func(w Workload) string { return w.Name })
}

func (p *Plan) takeWith(e *Environment, at strictyaml.Node) {
	names := p.workloadNames()
	if !at.IsMapping() {
		at.Problemf("with: needs a workload and its parameters, such as {%s: {...}}", strings.Join(names, ": {...}, "))
		return
	}
	for _, own := range at.Pairs() {
		w := p.Workload(own.Key)
		switch {
		case w == nil:
			own.Value.ProblemAtKey("with: %s", strictyaml.Unknown("workload", own.Key, names))
		case !own.Value.IsMapping():
			own.Value.Problemf("with: %s needs its parameters, such as {port: 8080}", own.Key)
		default:
			p.takeParameters(e, w, own.Value)
		}
	}
}

func (p *Plan) takeParameters(e *Environment, w *Workload, at strictyaml.Node) {
	known := slices.Sorted(maps.Keys(w.Pack.Parameters))
	for _, pair := range at.Pairs() {
		parameter, ok := w.Pack.Parameters[pair.Key]
		if !ok {
			pair.Value.ProblemAtKey("with: workload %s: %s", w.Name, strictyaml.Unknown("parameter", pair.Key, known))
			continue
		}
		if slices.ContainsFunc(w.Levels, func(l Level) bool { return l.sweeps(pair.Key) }) {
			pair.Value.ProblemAtKey("with: %s is swept by workload %s, and levels must be the same in every environment", pair.Key, w.Name)
			continue
		}
		if slices.ContainsFunc(w.Levels, func(l Level) bool { return slices.Contains(l.Total, pair.Key) }) {
			pair.Value.ProblemAtKey("with: the instances of workload %s share %s as a total: give it in the workload", w.Name, pair.Key)
			continue
		}
		var value string
		if pair.Value.IsMapping() || pair.Value.IsSequence() || pair.Value.IsNull() {
			pair.Value.Problemf("with: %s: needs one value; a list is a sweep, and levels must be the same in every environment", pair.Key)
			continue
		}
		pair.Value.Decode(&value)
		value, err := parameter.Normalize(value)
		if err != nil {
			pair.Value.Problemf("with: %s: %s", pair.Key, err)
			continue
		}
		if e.With == nil {
			e.With = map[string]map[string]string{}
		}
		if e.With[w.Name] == nil {
			e.With[w.Name] = map[string]string{}
		}
		e.With[w.Name][pair.Key] = value
		if e.reshapes(w) {
			pair.Value.ProblemAtKey("with: %s sets the instances of workload %s, which must be the same in every environment", pair.Key, w.Name)
			delete(e.With[w.Name], pair.Key)
		}
	}
}

// reshapes says whether the environment's own parameters change which instances a
// workload needs.
func (e Environment) reshapes(w *Workload) bool {
	return slices.ContainsFunc(w.Levels, func(l Level) bool {
		usual, err := w.shape(l)
		l.Parameters = e.Parameters(w.Name, l)
		own, failed := w.shape(l)
		return err == nil && (failed != nil || own.Key() != usual.Key())
	})
}

// sweeps says whether the parameter is swept.
func (l Level) sweeps(parameter string) bool {
	return strings.Contains(","+l.Name, ","+parameter+"=")
}

// Parameters are those of a workload at a level in this environment.
func (e Environment) Parameters(workload string, l Level) map[string]string {
	own := e.With[workload]
	if len(own) == 0 {
		return l.shared(l.Parameters)
	}
	all := maps.Clone(l.Parameters)
	maps.Copy(all, own)
	return l.shared(all)
}

// Own are the parameters that only this environment has, a line a workload:
// "nginx: access_log=stdout".
func (e Environment) Own() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(e.With)) {
		line := name + ":"
		for _, key := range slices.Sorted(maps.Keys(e.With[name])) {
			line += " " + key + "=" + e.With[name][key]
		}
		lines = append(lines, line)
	}
	return lines
}
