// Package native runs an image on the host itself: the agent in a cgroup of its
// own, with the same limits as everywhere, in the image's root file system.
// Processes and network are the host's. It is what the other environments are
// compared with.
//
// It must not know workloads or studies.
package native

import (
	"context"
	"os/exec"

	"golang.org/x/sys/unix"

	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/childprocess"
	"tare/internal/image"
	"tare/internal/linux/virtnet"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "native",
		About:    "processes of the host in a cgroup, in the image's root file system",
		Options:  func() any { o := Defaults(); return &o },
		Requires: func(o any) []environment.Requirement { return requirements(o.(*Options)) },
		New: func(options any) (environment.Environment, error) {
			o := options.(*Options)
			if err := o.Validate(); err != nil {
				return nil, err
			}
			return &native{*o}, nil
		},
		// What a dead owner leaves is processes, a cgroup, mounts and a folder:
		// owner.Sweep finds them all. The agent's own mounts end with it, and so
		// do networks.
		Sweep: nil,
	})
}

func requirements(o *Options) []environment.Requirement {
	list := childprocess.Requires()
	if o.Network == "nat" {
		list = append(list, environment.Requirement{What: "iptables, for address translation", Check: checkMasquerader})
	}
	if blockdevice.Named(o.Data) {
		list = append(list, blockdevice.Requirement(o.Data))
	}
	return list
}

func checkMasquerader(context.Context) environment.Finding {
	if _, err := exec.LookPath(virtnet.Masquerader); err != nil {
		return environment.Finding{State: environment.Missing, Reason: err.Error(), Fix: "apt-get install -y iptables"}
	}
	return environment.Finding{State: environment.Usable}
}

// native is the environment.
type native struct{ options Options }

// Prepare unpacks the image.
func (n *native) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if n.options.RootFS == "host" {
		return nil
	}
	_, err := img.Directory(ctx)
	return err
}

// Label says that other programs run than in the image.
func (n *native) Label() string {
	if n.options.RootFS == "host" {
		return "host rootfs"
	}
	return ""
}

// NewNetwork has nothing to make where the instances share the host's network:
// each that joins gets an address of the loopback for itself. Else it makes a
// bridge, and each has a namespace with a port at it.
func (n *native) NewNetwork(_ context.Context, o *cleanup.Owner, _ string) (environment.Network, error) {
	if n.options.shares() {
		return virtnet.Loopback{}, nil
	}
	return n.options.bridge(o)
}

// Versions is the host's kernel.
func (n *native) Versions(context.Context) map[string]string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil
	}
	return map[string]string{"kernel": unix.ByteSliceToString(name.Release[:])}
}
