package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/system"

	"tare/internal/environment"
)

func TestARuntimeByTheNameOfItsShimNeedsNoConfiguration(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if err := os.WriteFile(filepath.Join(bin, "containerd-shim-kata-v2"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, engine, version, runtime string
		want                           string // "" means that it is usable
	}{
		{"a shim that is installed", "docker", "26.1.5+dfsg1", "io.containerd.kata.v2", ""},
		{"a shim that is not", "docker", "26.1.5", "io.containerd.kata-fc.v2", "the runtime io.containerd.kata-fc.v2 is the program containerd-shim-kata-fc-v2, which is not installed; install containerd-shim-kata-fc-v2 in a directory of dockerd's PATH"},
		{"an engine of before", "docker", "20.10.24+dfsg1", "io.containerd.kata.v2", "Docker 20.10.24+dfsg1 does not start the shim containerd-shim-kata-v2 by its name io.containerd.kata.v2"},
		{"another engine", "podman", "5.4.2", "io.containerd.kata.v2", "has no runtime io.containerd.kata.v2"},
		{"a name that no shim has", "docker", "26.1.5", "kata", "has no runtime kata"},
		{"a path", "docker", "26.1.5", "/opt/kata/bin/kata.v2", "has no runtime /opt/kata/bin/kata.v2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := theDocker
			if c.engine == "podman" {
				b = thePodman
			}
			found := b.findRuntime(system.Info{ServerVersion: c.version}, c.runtime)
			said := found.Reason + "; " + found.Fix.Text
			if c.want == "" && found.State != environment.Usable || !strings.Contains(said, c.want) {
				t.Errorf("%v: %s", found.State, said)
			}
		})
	}
}
