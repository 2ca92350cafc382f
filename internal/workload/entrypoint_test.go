package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/image"
	"tare/internal/image/origin"
)

const ofImage = `workload: served
stresses: network
servers: [{entrypoint: true, role: server, env: [A=b], ready: {tcp: "${address}:80"}}]
driver: {run: drive, role: driver}
metrics: [{name: wall_seconds, unit: s, better: lower, primary: true}]
`

func TestAStepWithEntrypointStartsWhatTheImageSays(t *testing.T) {
	p, err := Decode("served.yaml", []byte(ofImage))
	if err != nil {
		t.Fatal(err)
	}
	img := &image.Image{Dir: "/srv", Config: origin.Config{Entrypoint: []string{"/entry.sh", "--"}, Cmd: []string{"sh", "-c", "serve ${PORT} $${X}"}, User: "www:5", StopSignal: "SIGQUIT"}}
	got, err := p.Of(func(string) *image.Image { return img }).With(nil, InstanceVars{})
	if err != nil {
		t.Fatal(err)
	}
	want := Step{Argv: []string{"/entry.sh", "--", "sh", "-c", "serve ${PORT} $${X}"}, Env: []string{"A=b"}, User: "www:5", Dir: "/srv", Role: "server"}
	if d := cmp.Diff(want, got.Servers[0].Step); d != "" {
		t.Errorf("want - got +:\n%s", d)
	}
	if got.Servers[0].Stop != "SIGQUIT" || !slices.Equal(got.Driver.CommandArgs(), []string{"/bin/sh", "-c", "drive"}) {
		t.Errorf("%+v", got)
	}
	other, err := p.WithArguments([]string{"serve", "--at=${HOME}"}).Of(func(string) *image.Image { return img }).With(nil, InstanceVars{})
	if err != nil || !slices.Equal(other.Servers[0].Argv, []string{"/entry.sh", "--", "serve", "--at=${HOME}"}) || other.Driver.Argv != nil {
		t.Errorf("with other arguments: %v, %+v", err, other)
	}
	if !p.Servers[0].Entrypoint || p.Servers[0].Argv != nil {
		t.Error("the pack itself was changed")
	}
}

func TestAStepHasOneCommand(t *testing.T) {
	for add, want := range map[string]string{
		"argv: [serve]": "exactly one of run (a shell command line), argv (a list) and entrypoint: true (the image's own command), has 2",
		"user: nobody":  "entrypoint: the image says the user and the directory",
		"dir: /tmp":     "entrypoint: the image says the user and the directory",
	} {
		_, err := Decode("served.yaml", []byte(strings.Replace(ofImage, "entrypoint: true", "entrypoint: true, "+add, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", add, err)
		}
	}
}

func TestEachRoleStartsWhatItsOwnImageSays(t *testing.T) {
	images := map[string]*image.Image{
		"api": {Dir: "/srv", Config: origin.Config{Entrypoint: []string{"python3"}, Cmd: []string{"api.py"}, User: "www"}},
		"":    {Config: origin.Config{Cmd: []string{"redis-server"}}},
	}
	api := Step{Entrypoint: true, Role: "api"}
	for name, c := range map[string]struct{ step, want Step }{
		"the image's":               {api, Step{Argv: []string{"python3", "api.py"}, User: "www", Dir: "/srv"}},
		"other arguments":           {Step{Entrypoint: true, Role: "api", Argv: []string{"worker.py"}}, Step{Argv: []string{"python3", "worker.py"}, User: "www", Dir: "/srv"}},
		"no arguments":              {Step{Entrypoint: true, Role: "api", Argv: []string{}}, Step{Argv: []string{"python3"}, User: "www", Dir: "/srv"}},
		"another program":           {Step{Entrypoint: true, Role: "api", Program: []string{"/bin/serve"}, User: "0", Dir: "/"}, Step{Argv: []string{"/bin/serve"}, User: "0", Dir: "/"}},
		"another program and words": {Step{Entrypoint: true, Role: "api", Program: []string{}, Argv: []string{"sh"}}, Step{Argv: []string{"sh"}, User: "www", Dir: "/srv"}},
		"the image of all":          {Step{Entrypoint: true, Role: "cache"}, Step{Argv: []string{"redis-server"}}},
	} {
		p := Pack{Servers: []Server{{Step: c.step}}, Roles: map[string]Role{"api": {Place: Apart, Image: "api"}}}
		got := p.Of(func(name string) *image.Image { return images[name] }).Servers[0].Step
		c.want.Role = c.step.Role
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: want - got +:\n%s", name, d)
		}
	}
}
