package docker

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"tare/internal/environment"
)

// needs of an engine on a machine that has nothing yet.
func (b brand) needs(o Options) environment.Needs {
	if b.name == thePodman.name {
		return environment.Needs{
			Packages: []string{"podman", "crun", "iptables", "containernetworking-plugins"},
			Services: []environment.Service{{Argv: []string{"sh", "-c", podmanService, "podman", o.Socket},
				Ready: []string{"podman", "--remote", "--url", o.Socket, "version"}}},
			Folders: []string{"/var/lib/containers", "/var/tmp"}, // an image is unpacked in the second
		}
	}
	return environment.Needs{
		Packages: []string{"docker.io", "iptables"},
		Services: []environment.Service{{Argv: []string{"dockerd", "--host=" + o.Socket},
			Ready: []string{"docker", "--host", o.Socket, "version"}}},
		Folders: []string{"/var/lib/docker"},
	}
}

// podmanService makes its socket's folder, as nobody else does where no init runs.
const podmanService = `mkdir -p "$(dirname "${1#unix://}")" && exec podman --cgroup-manager=cgroupfs system service --time=0 "$1"`

// needsOfGvisor: with engine: auto it is runsc itself, since a new machine has
// no daemon.
func needsOfGvisor(o GvisorOptions) (environment.Needs, error) {
	name := o.Binary
	if o.Engine == "docker" {
		name = o.Runtime
	}
	file, err := exec.LookPath(name)
	if err != nil {
		return environment.Needs{}, fmt.Errorf("gVisor's program %s, to be put into the machine: %w; install it: scripts/install-runsc.sh /usr/local/bin", name, err)
	}
	if file, err = filepath.Abs(file); err != nil {
		return environment.Needs{}, err
	}
	program := environment.Program{File: file, At: name}
	if !filepath.IsAbs(name) {
		program.At = "/usr/local/bin/" + filepath.Base(name)
	}
	if o.Engine != "docker" {
		return environment.Needs{Packages: []string{"iptables"}, Programs: []environment.Program{program}}, nil
	}
	needs := theDocker.needs(o.containers())
	needs.Programs = []environment.Program{program}
	daemon := &needs.Services[0]
	daemon.Argv = append(daemon.Argv, "--add-runtime="+o.Runtime+"="+program.At)
	return needs, nil
}
