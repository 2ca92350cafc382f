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

func TestPacketsBetweenContainersOfPodmanNeedARuleWhereDockerDropsThem(t *testing.T) {
	const docker = "-P INPUT ACCEPT\n-P FORWARD DROP\n-N DOCKER-USER\n-A FORWARD -j DOCKER-USER\n-A FORWARD -i docker0 -o docker0 -j ACCEPT\n"
	for name, c := range map[string]struct {
		rules string
		want  bool
	}{
		"Docker's alone":          {docker, true},
		"as doctor advises":       {docker + "-A DOCKER-USER -i podman+ -o podman+ -j ACCEPT\n", false},
		"of Podman with iptables": {docker + "-A FORWARD -j NETAVARK_FORWARD\n", false},
		"of Podman with CNI":      {docker + "-A FORWARD -j CNI-FORWARD\n", false},
		"no Docker":               {"-P FORWARD ACCEPT\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			if err := os.WriteFile(filepath.Join(bin, "iptables"), []byte("#!/bin/sh\ncat <<'END'\n"+c.rules+"END\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if got := dropsBetween(t.Context()); got != c.want {
				t.Errorf("packets are dropped: %v", got)
			}
		})
	}
}
