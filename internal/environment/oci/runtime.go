package oci

import "tare/internal/linux/cgroup"

// program is an OCI runtime that is there.
type program struct {
	path    string
	options *Options
}

// global are the arguments before the runtime's command.
func (p program) global(folder string) []string {
	list := []string{p.path}
	switch p.options.family() {
	case "runsc":
		// The cgroup is ours, and what the sandbox writes to its root goes to a file
		// on the same file system as everybody's data.
		overlay, network := "none", "sandbox"
		if p.options.Root == "overlay" && p.options.Gvisor.Overlay {
			overlay = "root:dir=" + folder
		}
		if p.options.Network == "host" || !p.options.Gvisor.Netstack {
			network = "host"
		}
		platform := p.options.Platform
		if platform == "" {
			platform = "systrap"
		}
		list = append(list, "--root="+folder, "--ignore-cgroups", "--overlay2="+overlay, "--platform="+platform, "--network="+network)
		if !p.options.Gvisor.Directfs {
			list = append(list, "--directfs=false")
		}
		if !p.options.Gvisor.Shared {
			list = append(list, "--file-access-mounts=exclusive")
		}
	case "crun":
		list = append(list, "--root="+folder+"/state", "--cgroup-manager=cgroupfs")
	default:
		list = append(list, "--root", folder+"/state")
	}
	return append(list, p.options.RuntimeArgs...)
}

// run are the arguments that start the instance. The runtime stays as long as it
// does, but one that copies leaves it to itself at once.
func (p program) run(folder, id string) []string {
	list := append(p.global(folder), "run", "--bundle", folder, "--pid-file", folder+"/pid")
	if p.copies() {
		list = append(list, "--detach")
	}
	return append(list, id)
}

// copies says whether a runtime that stays beside its container hands on what the
// container prints: runc does, through pipes of its own. The others give the
// container theirs.
func (p program) copies() bool { return p.options.family() == "runc" }

// delete are the arguments that end whatever the runtime knows of the instance.
func (p program) delete(folder, id string) []string {
	return append(p.global(folder), "delete", "--force", id)
}

// hides is the hierarchy that has to be out of the runtime's sight: crun takes a
// machine with cgroup v1 and v2 at once for neither.
func (p program) hides() string {
	if p.options.family() != "crun" || cgroup.Mode() != "hybrid" {
		return ""
	}
	return "/sys/fs/cgroup/unified"
}
