package scaffold

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/application"
	"tare/internal/application/compose"
	"tare/internal/application/manifest"
	"tare/internal/application/manifest/objects"
	"tare/internal/author/try"
	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/study"
)

// Application reads an application from Compose files, or from Kubernetes manifests. Where
// one Compose file asks for what no instance has, and the second one of docker compose up
// takes that out, it is read too.
func Application(ctx context.Context, paths []string) (*application.Application, []string, error) {
	if isManifest(paths[0]) {
		app, err := manifest.Load(paths)
		return app, paths, err
	}
	load := func(paths []string) (*application.Application, error) {
		return compose.Load(ctx, compose.Options{Files: paths, Environ: os.Environ()})
	}
	app, err := load(paths)
	if err != nil || asks(app) == "" || len(paths) > 1 {
		return app, paths, err
	}
	if second := override(paths[0]); second != "" {
		both := []string{paths[0], second}
		if merged, err := load(both); err == nil && asks(merged) == "" {
			return merged, both, nil
		}
	}
	return app, paths, nil
}

// heads are what each object of Kubernetes has, in a file of YAML and in one of JSON.
var heads = regexp.MustCompile(`(?m)^(- )?(\{ *)?"?apiVersion"?:|^ *"apiVersion":`)

// isManifest reports whether a file has objects of Kubernetes; a Compose file has none.
func isManifest(path string) bool {
	text, err := bounded.ReadFile(path, objects.Limit)
	return err == nil && heads.Match(text)
}

// FromApplication is the study of an application, whose files are at paths.
func (o Options) FromApplication(app *application.Application, paths ...string) (*Study, error) {
	t, err := o.begin(app.Name, "")
	if err != nil {
		return nil, err
	}
	s := &Study{Text: t}
	key, check := "compose", "healthcheck"
	if isManifest(paths[0]) {
		key, check = "manifest", "readinessProbe"
	}
	notes(t, app, check)
	driven, why := pick(app)
	name := study.Todo
	one := server{}
	if driven != nil {
		name = study.Quoted(driven.Name)
		one = serverOf(*driven)
	}
	files := lists.Map(paths, func(p string) string { return relative(o.File, p) })
	value := study.Quoted(files[0])
	if len(files) > 1 {
		value = study.FlowList(files)
	}
	one.lines = [][2]string{{"server:", ""}, {"  " + key + ": " + value, "relative to this file"}}
	if what := asks(app); what != "" {
		one.lines[1][1] = study.Todo + ": and a second file"
		t.Note("Not supported: %s. If the application works without, a second file removes it: `%s`; compose: %s.", what, compose.Resets(app), study.FlowList(append(slices.Clone(files), "FILE")))
	}
	if lacking := lacks(app); lacking != "" {
		mark(&one.lines[1][1], "missing paths")
		t.Note("Missing here: `%s` makes the directories that Compose would create; bring what is a file.", lacking)
	}
	for _, reason := range study.Refused(app) {
		mark(&one.lines[1][1], "what tare run refuses")
		t.Note("Refused by tare run: %s.", reason)
	}
	if second := override(paths[0]); second != "" && len(paths) == 1 {
		one.lines = append(one.lines, [2]string{"  # compose: " + study.FlowList([]string{files[0], relative(o.File, second)}), "as docker compose up"})
	}
	one.lines = append(one.lines, [2]string{"  service: " + name, why})
	if len(app.Services) > 1 {
		under := "  # under: [" + name + "]"
		if driven == nil {
			under = "  # under: [NAME]"
		}
		one.lines = append(one.lines, [2]string{under, "these alone; the rest in the baseline"})
	}
	one.workloads(t)
	end(t)
	return s, nil
}

// mark makes a comment one of a line that somebody has to complete.
func mark(comment *string, what string) {
	switch todo := study.Todo + ": "; {
	case strings.HasSuffix(*comment, what):
	case strings.HasPrefix(*comment, todo):
		*comment += "; " + what
	default:
		*comment = todo + what
	}
}

// lacks is the command that makes what services mount and this machine does not have; ""
// if there is all.
func lacks(app *application.Application) string {
	var all []string
	for _, s := range app.Services {
		for _, path := range study.Lacking(s) {
			if path = study.Quoted(relative("", path)); !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "mkdir -p " + strings.Join(all, " ")
}

// notes says what somebody should know of the services before a run.
func notes(t *study.Text, app *application.Application, check string) {
	var built, ending, open, blind []string
	ends := map[string]bool{}
	for _, s := range app.Services {
		for _, d := range s.DependsOn {
			ends[d.Service] = ends[d.Service] || d.Condition == application.Completed
		}
	}
	for _, s := range app.Services {
		if s.Built {
			built = append(built, fmt.Sprintf("%s (docker-daemon:%s)", s.Name, s.Image))
		}
		switch {
		case ends[s.Name] || s.Completes:
			ending = append(ending, s.Name)
		case s.Health != nil:
		case len(s.Ports) > 0:
			open = append(open, fmt.Sprintf("%s (port %d)", s.Name, s.Ports[0]))
		default:
			blind = append(blind, s.Name)
		}
	}
	unless := ", unless the image has one"
	if check != "healthcheck" {
		unless = "" // Kubernetes does not know the image's
	}
	for _, note := range []struct {
		what  string
		names []string
	}{
		{"Built by Compose, so run `docker compose build` before", built},
		{"Runs to its end before those that depend on it start", ending},
		{"No " + check + " here; ready when the port accepts a connection" + unless, open},
		{"No " + check + " and no port here; ready when it runs" + unless, blind},
	} {
		if len(note.names) > 0 {
			t.Note("%s: %s.", note.what, strings.Join(note.names, ", "))
		}
	}
}

// asks says what services ask of their environment; "" for nothing.
func asks(app *application.Application) string {
	var all []string
	for _, s := range app.Services {
		if len(s.Asks) > 0 {
			keys := lists.Map(s.Asks, func(a application.Ask) string { return a.Key })
			all = append(all, s.Name+" ("+strings.Join(keys, ", ")+")")
		}
	}
	return strings.Join(all, ", ")
}

// overrides are the names of files that docker compose up reads beside those that it
// looks for.
var overrides = []string{"compose.override.yml", "compose.override.yaml", "docker-compose.override.yml", "docker-compose.override.yaml"}

// override is the second file of docker compose up; "" for none.
func override(path string) string {
	if !slices.Contains(composeFiles, filepath.Base(path)) {
		return ""
	}
	for _, name := range overrides {
		second := filepath.Join(filepath.Dir(path), name)
		if info, err := os.Stat(second); err == nil && info.Mode().IsRegular() {
			return second
		}
	}
	return ""
}

// pick is the service that a load drives: the one that publishes a port, of several the
// one that is no database. Without one, why says what to choose from.
func pick(app *application.Application) (driven *application.Service, why string) {
	var published, pages []string
	for _, s := range app.Services {
		if len(s.Published) == 0 {
			continue
		}
		published = append(published, s.Name)
		if load := try.Usual(s.Published[0]); load == "" || load == "http" {
			pages = append(pages, s.Name)
		}
	}
	switch {
	case len(published) == 1:
		return app.Service(published[0]), "what the load drives: it publishes a port"
	case len(pages) == 1:
		return app.Service(pages[0]), "what the load drives: it publishes a port"
	case len(app.Services) == 1:
		return &app.Services[0], "what the load drives"
	case len(published) == 0:
		servers := lists.Filter(app.Services, func(s application.Service) bool { return !s.Completes })
		published = lists.Map(servers, func(s application.Service) string { return s.Name })
	}
	return nil, study.Todo + ": what the load drives: " + joined(published, "or")
}

// serverOf is what the file says of the service that is driven.
func serverOf(s application.Service) server {
	one := server{variables: try.Variables(s.Env)}
	if s.Health != nil {
		one.page = cmp.Or(s.Health.Page, try.HealthPath(s.Health.Test))
	}
	if one.page != "" {
		one.pageWhy = "its healthcheck asks for it"
	}
	one.ports, one.portWhy = s.Published, "it publishes this one, inside"
	if len(one.ports) == 0 {
		one.ports, one.portWhy = s.Ports, "it exposes it"
	}
	one.port, one.load = choose(one.ports, one.page)
	return one
}

// relative is a path as a file names it: with ./ or ../, so that it is taken for a path.
func relative(from, path string) string {
	rel := path
	if base, err := filepath.Abs(filepath.Dir(from)); err == nil {
		if to, err := filepath.Abs(path); err == nil {
			if r, err := filepath.Rel(base, to); err == nil {
				rel = r
			}
		}
	}
	if !filepath.IsAbs(rel) && !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return rel
}
