// Package native runs an image on the host itself: the agent in a cgroup of its
// own, with the same limits as everywhere, in the image's root file system.
// Processes and network are the host's. It is what the other environments are
// compared with.
//
// It must not know workloads or studies.
package native

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/environment/link"
	"tare/internal/image"
	"tare/internal/owner"
)

// Options of the kind "native".
type Options struct {
	// RootFS is "image", the image's root file system, or "host", the host's
	// own: then what the host has installed runs, and not what the others run.
	RootFS string `yaml:"rootfs" json:"rootfs"`
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	if o.RootFS != "image" && o.RootFS != "host" {
		return fmt.Errorf("rootfs: %q is neither image nor host", o.RootFS)
	}
	return nil
}

func init() {
	environment.Register(environment.Registration{
		Kind:     "native",
		About:    "processes of the host in a cgroup, in the image's root file system",
		Options:  func() any { return &Options{RootFS: "image"} },
		Requires: func(any) []environment.Requirement { return requirements() },
		New: func(options any) (environment.Environment, error) {
			o := options.(*Options)
			if err := o.Validate(); err != nil {
				return nil, err
			}
			return &native{*o}, nil
		},
		// What a dead owner leaves is processes, a cgroup and a folder: owner.Sweep
		// finds them all. The mounts are the agent's own and end with it.
		Sweep: nil,
	})
}

func requirements() []environment.Requirement {
	list := []environment.Requirement{
		{What: "root, with the right to mount", Check: checkRoot},
		{What: "cgroups that can be made", Check: checkCgroups},
	}
	for _, c := range []struct{ controller, limit string }{
		{"cpu", "CPUs"}, {"memory", "memory"}, {"cpuset", "cores"},
	} {
		list = append(list, environment.Requirement{
			What:  "the cgroup controller " + c.controller,
			Check: func(context.Context) environment.Finding { return checkController(c.controller, c.limit) },
		})
	}
	return list
}

func checkRoot(context.Context) environment.Finding {
	missing := environment.Finding{State: environment.Missing, Mend: "run tare as root (sudo)"}
	if uid := unix.Geteuid(); uid != 0 {
		missing.Reason = fmt.Sprintf("this process runs as user %d", uid)
		return missing
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	if err := unix.Capget(&header, &held[0]); err != nil {
		missing.Reason = fmt.Sprintf("asking for the capabilities: %v", err)
		return missing
	}
	for name, bit := range map[string]int{"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_SYS_CHROOT": unix.CAP_SYS_CHROOT} {
		if held[0].Effective&(1<<bit) == 0 {
			missing.Reason = "root here is without " + name
			missing.Mend = "run tare outside of this container, or start it with --privileged"
			return missing
		}
	}
	return environment.Finding{State: environment.Usable}
}

func checkCgroups(context.Context) environment.Finding {
	tree, err := cgroup.Host()
	if err != nil {
		return environment.Finding{State: environment.Missing, Reason: err.Error(), Mend: "mount -t cgroup2 none /sys/fs/cgroup"}
	}
	if err := tree.Writable(); err != nil {
		return environment.Finding{State: environment.Missing, Reason: err.Error(), Mend: "mount -o remount,rw /sys/fs/cgroup"}
	}
	return environment.Finding{State: environment.Usable, Reason: "cgroup " + tree.Mode()}
}

func checkController(controller, limit string) environment.Finding {
	tree, err := cgroup.Host()
	if err != nil {
		return environment.Finding{State: environment.Missing, Reason: err.Error()}
	}
	for _, c := range tree.Controllers() {
		if c == controller {
			return environment.Finding{State: environment.Usable}
		}
	}
	return environment.Finding{
		State:  environment.Caveat,
		Reason: fmt.Sprintf("the kernel offers %s, so a limit of %s has no effect", strings.Join(tree.Controllers(), ", "), limit),
		Mend:   fmt.Sprintf("add cgroup_enable=%s to the kernel's command line and restart the machine", controller),
	}
}

// native is the environment.
type native struct{ options Options }

// Prepare unpacks the image.
func (n *native) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if n.options.RootFS == "host" {
		return nil
	}
	_, err := img.Folder(ctx)
	return err
}

// Label says that other programs run than in the image.
func (n *native) Label() string {
	if n.options.RootFS == "host" {
		return "host rootfs"
	}
	return ""
}

// NewNetwork has nothing to make: the instances share the host's network, and
// each that joins gets an address of the loopback for itself.
func (n *native) NewNetwork(context.Context, *owner.Owner, string) (environment.Network, error) {
	return link.Loopback{}, nil
}

// Versions is the host's kernel.
func (n *native) Versions(context.Context) map[string]string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil
	}
	return map[string]string{"kernel": unix.ByteSliceToString(name.Release[:])}
}
