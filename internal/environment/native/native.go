// Package native runs an image as processes of the host: in a cgroup with the limits, in
// the image's root file system, and by default in the host's namespaces. It is the usual
// baseline.
//
// It must not know workloads or studies.
package native

import (
	"context"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/childprocess"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/virtnet"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "native",
		About:    "processes of the host in a cgroup, in the image's root file system",
		Options:  func() any { o := Defaults(); return &o },
		Requires: func(o any) []environment.Requirement { return requirements(o.(*Options)) },
		New:      func(o any) (environment.Environment, error) { return &native{*o.(*Options)}, nil },
		Capabilities: func(o any) environment.Capabilities {
			host := o.(*Options).RootFS == "host"
			return environment.Capabilities{OwnFiles: host, Mounts: !host, WhyNoMounts: "with rootfs: host it has the files of this machine " +
				"at their own paths: name them by these, and leave the mount out"}
		},
		Parts: ladderParts,
	})
}

func requirements(o *Options) []environment.Requirement {
	if mapping() != nil {
		return mappedRequirements(o)
	}
	list := childprocess.Requires()
	if o.Network == "nat" {
		list = append(list, environment.Program("iptables, for NAT", virtnet.Masquerader, environment.Install("iptables")))
	}
	if blockdevice.Named(o.Data) {
		list = append(list, blockdevice.Requirement(o.Data))
	}
	return list
}

type native struct{ options Options }

// Prepare unpacks the image.
func (n *native) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if ids := mapping(); ids != nil {
		progress(said(ids))
	}
	if n.options.RootFS == "host" {
		return nil
	}
	_, err := img.Directory(ctx)
	return err
}

// Label marks results of other programs than the image's, and of programs that the
// kernel treats differently from root's.
func (n *native) Label() string {
	var labels []string
	if mapping() != nil {
		labels = append(labels, "user namespace")
	}
	if n.options.RootFS == "host" {
		labels = append(labels, "host rootfs")
	}
	return strings.Join(labels, ", ")
}

// NewNetwork makes nothing where the instances share the host's network: each gets its
// own loopback address. Else it makes a bridge, and each has a namespace with a port at it.
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
