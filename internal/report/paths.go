package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/study"
)

// pathRow is what lies between an environment's instances and the machine.
// Where that differs between instances each way stands there once.
type pathRow struct {
	Environment environmentView
	environment.Paths
}

// gatherPaths collects what the instances said, in the order of the study.
func gatherPaths(v *view) (rows []pathRow) {
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
		row := pathRow{Environment: e}
		for k, field := range []*string{&row.Network, &row.Root, &row.Data, &row.RootOn, &row.DataOn} {
			*field = strings.Join(ways[k], "; or ")
		}
		if row.Paths != (environment.Paths{}) || e.On != "" && e.Ran() {
			rows = append(rows, row)
		}
	}
	return rows
}

// way is what lies between instances and the machine, with the environments that
// have it in common.
type way struct {
	Environments []environmentView
	environment.Paths
}

// Ways are the paths of the run, each of them once.
func (v *view) Ways() (ways []way) {
	for _, r := range v.Paths {
		i := slices.IndexFunc(ways, func(w way) bool { return w.Paths == r.Paths })
		if i < 0 {
			i = len(ways)
			ways = append(ways, way{Paths: r.Paths})
		}
		ways[i].Environments = append(ways[i].Environments, r.Environment)
	}
	return ways
}

// names are the environments of a way.
func (w way) names() string {
	var names []string
	for _, e := range w.Environments {
		names = append(names, e.shownOn())
	}
	return strings.Join(names, "; ")
}

// hostOf names the host of the study that an environment runs on, with how it is
// reached; "" is the machine that tare ran on.
func hostOf(p *study.Plan, e study.Environment) string {
	for e.Inside != nil {
		e = *e.Inside
	}
	if e.Host == "" {
		return ""
	}
	return fmt.Sprintf("host %s (%s)", e.Host, p.Hosts[e.Host].SSH)
}

// shownOn is an environment's name with the host that it ran on.
func (e environmentView) shownOn() string {
	if e.On == "" {
		return e.Shown
	}
	return e.Shown + ", on " + e.On
}

// machinesDiffer warns where environments ran on another machine than the
// baseline: then a comparison is one of the machines as well.
func machinesDiffer(v *view) (warnings []note) {
	machine := func(e environmentView) string {
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
		warnings = append(warnings, note{Environment: "WARNING", Text: fmt.Sprintf(
			"%s %s on %s, %s on %s: the comparison is one of two machines as well", strings.Join(who[at], ", "), run, at, v.Base.Shown, machine(v.Base))})
	}
	return warnings
}

// disksDiffer warns where the environments' files are not on the same file
// system of the host: then a comparison is one of the disks as well.
func disksDiffer(rows []pathRow) (warnings []note) {
	for _, of := range []struct {
		what string
		on   func(pathRow) string
	}{
		{"root file systems", func(r pathRow) string { return r.RootOn }},
		{"/data", func(r pathRow) string { return r.DataOn }},
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
		var parts []string
		for _, on := range places {
			parts = append(parts, fmt.Sprintf("%s (%s)", on, strings.Join(who[on], ", ")))
		}
		warnings = append(warnings, note{Environment: "WARNING", Text: fmt.Sprintf(
			"%s: not on the same file system of the host, so disks are compared as well: %s", of.what, strings.Join(parts, "; "))})
	}
	return warnings
}

// on names a form with the file system that it is on.
func on(form, below string) string {
	switch {
	case form == "":
		return missing
	case below == "":
		return form
	}
	return form + " (on " + below + ")"
}

func (t *terminal) paths(ways []way) {
	if len(ways) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, "Paths"))
	for _, r := range ways {
		t.wrap(2, r.names())
		t.wrap(4, "network: "+on(r.Network, ""))
		t.wrap(4, "root: "+on(r.Root, r.RootOn))
		t.wrap(4, "/data: "+on(r.Data, r.DataOn))
	}
}

func markdownPaths(b *strings.Builder, ways []way) {
	if len(ways) == 0 {
		return
	}
	b.WriteString("\n## Paths\n\n| environment | network | root | on | /data | on |\n|---|---|---|---|---|---|\n")
	for _, r := range ways {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", escape(r.names()),
			escape(on(r.Network, "")), escape(on(r.Root, "")), escape(on(r.RootOn, "")), escape(on(r.Data, "")), escape(on(r.DataOn, "")))
	}
}
