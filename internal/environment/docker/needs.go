package docker

import "tare/internal/environment"

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
