package docker

import (
	"strings"

	"tare/internal/agent"
	"tare/internal/environment"
)

// needs of an engine on a machine that has nothing yet.
func (b brand) needs(o Options) environment.Needs {
	if b.name == thePodman.name {
		return environment.Needs{
			Packages: []string{"podman", "crun", "iptables", "containernetworking-plugins"},
			Commands: []string{"podman", "crun", "iptables"},
			Services: []environment.Service{{Argv: []string{"sh", "-c", podmanService, "podman", o.Socket},
				Ready: answers(o.Socket)}},
			Directories: []string{"/var/lib/containers", "/var/tmp"}, // an image is unpacked in the second
		}
	}
	return environment.Needs{
		Packages: []string{"docker.io", "iptables"},
		Commands: []string{"dockerd", "containerd", "runc", "iptables"},
		Services: []environment.Service{
			{Argv: []string{"sh", "-c", containerdService}, Ready: agent.Probe{Unix: containerdSocket}},
			{Argv: []string{"dockerd", "--host=" + o.Socket, "--containerd=" + containerdSocket}, Ready: answers(o.Socket)},
		},
		Directories: []string{"/var/lib/docker"},
	}
}

// answers asks the engine itself. Its client takes seconds of an emulated processor
// for the same question, while the engine starts on that processor.
func answers(socket string) agent.Probe {
	return agent.Probe{HTTP: "http://engine/_ping", Unix: strings.TrimPrefix(socket, "unix://")}
}

const containerdSocket = "/run/containerd/containerd.sock"

// containerdService is a service of its own, as in Debian: dockerd gives up on one that it
// starts itself after 15 seconds, which an emulated processor may take. Nobody asks this one
// for pods.
const containerdService = `printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >/run/containerd.toml && ` +
	`exec containerd --config=/run/containerd.toml --root=/var/lib/docker/containerd --address=` + containerdSocket

// podmanService makes its socket's directory, as nobody else does where no init runs.
const podmanService = `mkdir -p "$(dirname "${1#unix://}")" && exec podman --cgroup-manager=cgroupfs system service --time=0 "$1"`
