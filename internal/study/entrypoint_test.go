package study

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/workload"
)

// driven is a pack whose driver is in an image of its own.
func driven(name, place string) *workload.Pack {
	return &workload.Pack{Name: name, Stresses: "network",
		Servers: []workload.Server{{Step: workload.Step{Entrypoint: true, Role: "server"}}},
		Driver:  &workload.Step{Run: "drive ${address.server}", Role: "driver"},
		Roles:   map[string]workload.Role{"driver": {Place: place, Image: workload.OwnImage}}}
}

func TestARoleOnTheHostHasAnImageOfItsOwnBesideAReference(t *testing.T) {
	for _, c := range []struct{ image, place, want string }{
		{"{reference: app}", "host", "wrk"},
		{"{reference: app}", "together", ""},
	} {
		pack := driven("own", c.place)
		pack.Image.Packages = []string{"wrk"}
		file := (File{Name: "x", Source: []byte("study: x\nenvironments: {native: {}}\nimage: " + c.image + "\nworkloads: [{use: own}]\n")}).With(pack)
		p, err := Resolve(file, Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if source, own := p.Images[workload.OwnImage]; own {
			got = strings.Join(source.Recipe.Packages, " ")
		}
		shape := p.Workloads[0].Levels[0].Shape
		own := slices.ContainsFunc(shape.Roles, func(r RoleShape) bool { return r.Image == workload.OwnImage })
		if got != c.want || own != (c.want != "") || p.Image.Reference != "app" {
			t.Errorf("%+v: packages %q, %+v", c, got, shape)
		}
	}
}

func TestAnImageOfPackagesHasNoCommandToStart(t *testing.T) {
	file := (File{Name: "x", Source: []byte("study: x\nenvironments: {native: {}}\nworkloads: [{use: own}]\n")}).With(driven("own", "host"))
	if _, err := Resolve(file, Overrides{}); err == nil || !strings.Contains(err.Error(), "workload own starts the image's own command, and an image that is built from packages has none") {
		t.Errorf("%v", err)
	}
}

func TestOnlyTheImageReplacesAServer(t *testing.T) {
	const head = "study: x\nenvironments: {native: {}}\nimage: {reference: app}\nworkloads: ["
	for entry, want := range map[string]string{
		"{use: nginx, server: host}":                      "server: \"host\" is not known: image is the image's own server",
		"{use: fio, server: image}":                       "server: workload fio has no server that another one could replace",
		"{use: nginx, server: image, workers: 2}":         "unknown parameter \"workers\"",
		"{use: nginx, server: image, path: '/a b'}":       "path: \"/a b\" is not the path of a page",
		"{use: nginx, server: image, path: '/a?b=c&d'}":   "",
		"{use: nginx, arguments: [a]}":                    "arguments: workload nginx does not start the image's own command",
		"{use: nginx, server: image, arguments: []}":      "arguments: is empty",
		"{use: image-command, arguments: [a, '${b}', 1]}": "",
		"{use: nginx, server: image, port: 80}":           "",
		"{use: mysql-oltp, server: image, port: 3306}":    "",
	} {
		_, err := resolveText(t, head+entry+"]\n", Overrides{})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

func TestVariablesOfAWorkloadAreThoseOfItsCommands(t *testing.T) {
	const head = "study: x\nenvironments: {native: {}}\nimage: {reference: app}\nworkloads: [{use: postgres, server: image, env: "
	p, err := Resolve(&File{Name: "x", Source: []byte(head + "{B: yes, A: 1}}]\n")}, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Workloads[0].Pack.Servers[0].Env; !slices.Equal(got, []string{"A=1", "B=yes"}) {
		t.Errorf("%q", got)
	}
	for env, want := range map[string]string{
		"{A B: 1}": `env: "A B" is not a valid name of a variable`,
		"[A]":      "expected a mapping",
	} {
		if _, err := Resolve(&File{Name: "x", Source: []byte(head + env + "}]\n")}, Overrides{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", env, err)
		}
	}
}
