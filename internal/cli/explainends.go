package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"tare/internal/study"
)

// ends are the two environments, and the plan of a study that has the workload.
func (e *explainOptions) ends() (plan *study.Plan, from, to study.Environment, err error) {
	if e.study != "" {
		return e.endsOfStudy()
	}
	environments := yaml.MapSlice{}
	var names []string
	for _, text := range []string{e.from, e.to} {
		name, options, err := parseEnvironment(text)
		if err != nil {
			return nil, from, to, err
		}
		if slices.Contains(names, name) {
			return nil, from, to, badInput("--from and --to are both %s: there is nothing between them", name)
		}
		names = append(names, name)
		environments = append(environments, yaml.MapItem{Key: name, Value: options})
	}
	use := yaml.MapSlice{{Key: "use", Value: e.workload}}
	for _, text := range e.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, from, to, badInput("--set %s is not PARAMETER=VALUE", text)
		}
		use = append(use, yaml.MapItem{Key: key, Value: value})
	}
	limits := yaml.MapSlice{}
	for _, text := range e.limits {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, from, to, badInput("--limits %s is not LIMIT=VALUE", text)
		}
		limits = append(limits, yaml.MapItem{Key: key, Value: value})
	}
	margin := e.margin
	if margin == "" {
		margin = "2%"
	}
	document := yaml.MapSlice{
		{Key: "study", Value: fmt.Sprintf("%s: from %s to %s", e.workload, e.from, e.to)},
		{Key: "baseline", Value: names[0]},
		{Key: "limits", Value: limits},
		{Key: "environments", Value: environments},
		{Key: "workloads", Value: []yaml.MapSlice{use}},
		{Key: "design", Value: yaml.MapSlice{{Key: "margin", Value: margin}}},
	}
	name := "explain-" + strings.TrimSuffix(filepath.Base(e.workload), ".yaml")
	plan, err = planOf(study.File{Origin: "tare explain", Name: name}, document, nil, e.over)
	if err != nil {
		return nil, from, to, err
	}
	return plan, plan.Environments[0], plan.Environments[1], nil
}

// endsOfStudy takes all but the two names from a study.
func (e *explainOptions) endsOfStudy() (plan *study.Plan, from, to study.Environment, err error) {
	if len(e.limits) > 0 {
		return nil, from, to, badInput("--limits are for a workload alone: with --study the study's hold")
	}
	if plan, err = resolve(e.study, e.over); err != nil {
		return nil, from, to, err
	}
	plan.Name = "explain-" + plan.Name
	find := func(name string) (study.Environment, error) {
		i := slices.IndexFunc(plan.Environments, func(p study.Environment) bool { return p.Name == name })
		if i < 0 {
			var names []string
			for _, p := range plan.Environments {
				names = append(names, p.Name)
			}
			return from, badInput("the study %s has no environment %s: it has %s", e.study, name, strings.Join(names, ", "))
		}
		return plan.Environments[i], nil
	}
	if from, err = find(e.from); err != nil {
		return nil, from, to, err
	}
	if to, err = find(e.to); err != nil {
		return nil, from, to, err
	}
	i := slices.IndexFunc(plan.Workloads, func(w study.Workload) bool { return w.Name == e.workload })
	if i < 0 {
		var names []string
		for _, w := range plan.Workloads {
			names = append(names, w.Name)
		}
		return nil, from, to, badInput("the study %s has no workload %s: it has %s", e.study, e.workload, strings.Join(names, ", "))
	}
	plan.Workloads = plan.Workloads[i : i+1]
	plan.Study = fmt.Sprintf("%s: from %s to %s, of %s", e.workload, e.from, e.to, plan.Study)
	for _, text := range e.set {
		key, value, err := parameter(plan.Workloads[0], text)
		if err != nil {
			return nil, from, to, err
		}
		for _, l := range plan.Workloads[0].Levels {
			l.Parameters[key] = value
		}
	}
	if e.margin != "" {
		if err := plan.Design.Margin.UnmarshalText([]byte(e.margin)); err != nil {
			return nil, from, to, badInput("--margin: %w", err)
		}
	}
	return plan, from, to, nil
}

// parameter reads KEY=VALUE as the workload takes it.
func parameter(w study.Workload, text string) (key, value string, err error) {
	key, value, _ = strings.Cut(text, "=")
	p, known := w.Pack.Parameters[key]
	if !known {
		return "", "", badInput("%s: the workload %s has no such parameter", text, w.Name)
	}
	if value, err = p.Normalize(value); err != nil {
		return "", "", badInput("%s: %w", text, err)
	}
	for _, l := range w.Levels {
		if strings.Contains(","+l.Name, ","+key+"=") {
			return "", "", badInput("%s: the study sweeps %s", text, key)
		}
	}
	return key, value, nil
}

// given are the values that the study gives a workload's parameters, without those
// that it sweeps.
func given(w study.Workload) map[string]string {
	values := map[string]string{}
	for key, p := range w.Pack.Parameters {
		values[key] = p.Default
	}
	maps.Copy(values, w.Levels[0].Parameters)
	for _, l := range w.Levels {
		maps.DeleteFunc(values, func(key, value string) bool {
			other, set := l.Parameters[key]
			return set && other != value
		})
	}
	return values
}

// setAt sets parameters of the workload in one environment alone.
func setAt(w study.Workload, e *study.Environment, set []string) error {
	for _, text := range set {
		key, value, err := parameter(w, text)
		if err != nil {
			return err
		}
		with := map[string]map[string]string{}
		for name, own := range e.With {
			with[name] = maps.Clone(own)
		}
		if with[w.Name] == nil {
			with[w.Name] = map[string]string{}
		}
		with[w.Name][key] = value
		e.With = with
	}
	return nil
}
