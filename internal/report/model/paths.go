package model

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/environment"
)

// PathRow is the network path and the storage of the instances of an environment;
// variants between instances are listed once each.
type PathRow struct {
	Environment Environment
	environment.Paths
}

// gatherPaths collects the paths of the instances, in the order of the study.
func gatherPaths(v *Report) (rows []PathRow) {
	for _, e := range v.Environments {
		var ways [5][]string
		for i := range v.Trials {
			t := &v.Trials[i]
			if t.Environment != e.Name || t.Paths == nil {
				continue
			}
			for k, way := range []string{t.Paths.Network, t.Paths.Root, t.Paths.Data, t.Paths.RootOn, t.Paths.DataOn} {
				if way != "" && !slices.Contains(ways[k], way) {
					ways[k] = append(ways[k], way)
				}
			}
		}
		row := PathRow{Environment: e}
		for k, field := range []*string{&row.Network, &row.Root, &row.Data, &row.RootOn, &row.DataOn} {
			*field = strings.Join(ways[k], "; or ")
		}
		if row.Paths != (environment.Paths{}) || e.On != "" && e.Ran() {
			rows = append(rows, row)
		}
	}
	return rows
}

// SharedPaths is a set of paths with the environments that share it.
type SharedPaths struct {
	Environments []Environment
	environment.Paths
}

// SharedPaths are the paths of the run, each of them once.
func (v *Report) SharedPaths() (ways []SharedPaths) {
	for _, r := range v.Paths {
		i := slices.IndexFunc(ways, func(w SharedPaths) bool { return w.Paths == r.Paths })
		if i < 0 {
			i = len(ways)
			ways = append(ways, SharedPaths{Paths: r.Paths})
		}
		ways[i].Environments = append(ways[i].Environments, r.Environment)
	}
	return ways
}

// machinesDiffer warns about environments on another machine than the baseline: such
// a comparison includes the machines.
func machinesDiffer(v *Report) (warnings []Note) {
	machine := func(e Environment) string {
		if e.On == "" {
			return "this machine"
		}
		name, _, _ := strings.Cut(e.On, " (")
		return name
	}
	var places []string
	who := map[string][]string{}
	for _, e := range v.Environments {
		if e.On == v.Base.On || !e.Ran() {
			continue
		}
		at := machine(e)
		if who[at] == nil {
			places = append(places, at)
		}
		who[at] = append(who[at], e.Shown)
	}
	for _, at := range places {
		run := "runs"
		if len(who[at]) > 1 {
			run = "run"
		}
		warnings = append(warnings, Note{Environment: "WARNING", Text: fmt.Sprintf(
			"%s %s on %s, %s on %s: the comparison includes the machines", strings.Join(who[at], ", "), run, at, v.Base.Shown, machine(v.Base))})
	}
	return warnings
}

// disksDiffer warns about environments with files on different file systems of the
// host: such a comparison includes the disks.
func disksDiffer(rows []PathRow) (warnings []Note) {
	for _, of := range []struct {
		what string
		on   func(PathRow) string
	}{
		{"root file systems", func(r PathRow) string { return r.RootOn }},
		{"/data", func(r PathRow) string { return r.DataOn }},
	} {
		var places []string
		who := map[string][]string{}
		for _, r := range rows {
			on := of.on(r)
			if on == "" {
				continue
			}
			if who[on] == nil {
				places = append(places, on)
			}
			who[on] = append(who[on], r.Environment.Shown)
		}
		if len(places) < 2 {
			continue
		}
		parts := lists.Map(places, func(on string) string { return fmt.Sprintf("%s (%s)", on, strings.Join(who[on], ", ")) })
		warnings = append(warnings, Note{Environment: "WARNING", Text: fmt.Sprintf(
			"%s: on different file systems of the host, so the comparison includes the disks: %s", of.what, strings.Join(parts, "; "))})
	}
	return warnings
}
