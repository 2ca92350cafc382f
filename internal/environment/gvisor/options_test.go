package gvisor

import (
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment"
)

func TestOptionsThatCannotWorkAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string // "" means that they are valid
	}{
		{"gvisor's defaults", func(*Options) {}, ""},
		{"gvisor under docker in the host's network", func(o *Options) { o.Engine, o.Network = "docker", "host" }, "engine: direct"},
		{"gvisor by itself in the host's network", func(o *Options) { o.Engine, o.Network = "direct", "host" }, ""},
		{"gvisor under docker without directfs", func(o *Options) { o.Engine, o.Directfs = "docker", false }, "engine: direct"},
		{"gvisor by itself without directfs", func(o *Options) { o.Engine, o.Directfs = "direct", false }, ""},
		{"gvisor by itself with a bridge", func(o *Options) { o.Engine, o.Network = "direct", "bridge" }, "sandbox, host, none (with engine: direct)"},
		{"gvisor by itself with a volume", func(o *Options) { o.Engine, o.Data = "direct", "volume" }, "bind, overlay"},
		{"an unknown platform", func(o *Options) { o.Platform = "xen" }, "systrap, ptrace, kvm"},
		{"an unknown engine", func(o *Options) { o.Engine = "podman" }, "auto, docker, direct"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", "")
			registration, _ := environment.Lookup("gvisor")
			options := registration.Options().(*Options)
			c.change(options)
			err := options.Validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, made := registration.New(options); (made == nil) != (err == nil) {
				t.Errorf("New returns %v where Validate returns %v", made, err)
			}
		})
	}
}

func TestAutoChoosesAnEngineThatSupportsTheNetwork(t *testing.T) {
	absent := "unix://" + filepath.Join(t.TempDir(), "none.sock")
	for network, want := range map[string]string{"": "direct", "none": "direct", "sandbox": "direct", "host": "direct", "bridge": "docker"} {
		o := Options{Engine: "auto", Socket: absent, Runtime: "runsc", Network: network, Directfs: true}
		if got := o.resolve(t.Context()); got != want {
			t.Errorf("without a daemon, network %q is taken to %s, not %s", network, got, want)
		}
	}
}

func TestAMissingRunscIsMissingWithTheCommandThatBuildsIt(t *testing.T) {
	o := Options{Engine: "direct", Binary: filepath.Join(t.TempDir(), "runsc")}
	list := requirements(o)
	f := list[len(list)-1].Check(t.Context())
	if f.State != environment.Missing || !strings.Contains(f.Fix.String(), "install-runsc.sh") {
		t.Errorf("got %+v", f)
	}
}
