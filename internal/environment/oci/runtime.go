package oci

import (
	"cmp"
	"slices"

	"tare/internal/environment"
	"tare/internal/linux/cgroup"
)

// program is the installed OCI runtime.
type program struct {
	path    string
	options *Options
}

// global is the command line up to the runtime's command.
func (p program) global(directory string) []string {
	list := []string{p.path}
	switch p.options.family() {
	case "runsc":
		// tare manages the cgroup. What the sandbox writes to its root goes to a file on
		// the same file system as /data of other environments.
		overlay, network := "none", "sandbox"
		if p.options.Root == "overlay" && p.options.Gvisor.Overlay {
			overlay = "root:dir=" + directory
		}
		if p.options.Network == "host" || !p.options.Gvisor.Netstack {
			network = "host"
		}
		platform := p.options.Platform
		platform = cmp.Or(platform, "systrap")
		list = append(list, "--root="+directory, "--ignore-cgroups", "--overlay2="+overlay, "--platform="+platform, "--network="+network)
		if !p.options.Gvisor.Directfs {
			list = append(list, "--directfs=false")
		}
		if !p.options.Gvisor.Shared {
			list = append(list, "--file-access-mounts=exclusive")
		}
	case "crun":
		list = append(list, "--root="+directory+"/state", "--cgroup-manager=cgroupfs")
	default:
		list = append(list, "--root", directory+"/state")
	}
	return append(list, p.options.RuntimeArgs...)
}

// run is the command line that starts the instance. The runtime exits with it, except
// one that would copy its output, which detaches.
// Directories of this machine are shared with others, who may change them; gVisor keeps
// what it has read of an exclusive one.
func (p program) run(directory, id string, given []environment.Mount) []string {
	list := p.global(directory)
	if p.options.gvisor() && slices.ContainsFunc(given, func(m environment.Mount) bool { return !m.ReadOnly }) {
		list = append(list, "--file-access-mounts=shared")
	}
	list = append(list, "run", "--bundle", directory, "--pid-file", directory+"/pid")
	if p.copiesOutput() {
		list = append(list, "--detach")
	}
	return append(list, id)
}

// copiesOutput reports whether the runtime, while it stays, forwards what the
// container prints: runc does so through pipes. Others pass their descriptors on.
func (p program) copiesOutput() bool { return p.options.family() == "runc" }

// delete is the command line that kills and deletes the instance.
func (p program) delete(directory, id string) []string {
	return append(p.global(directory), "delete", "--force", id)
}

// hiddenHierarchy is the mount point of the cgroup v2 hierarchy where it has to be
// hidden from the runtime: crun refuses a machine with v1 and v2 (hybrid).
func (p program) hiddenHierarchy() string {
	if p.options.family() != "crun" || cgroup.Mode() != "hybrid" {
		return ""
	}
	return "/sys/fs/cgroup/unified"
}
