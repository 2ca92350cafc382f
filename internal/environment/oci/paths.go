package oci

import (
	"context"

	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/linux/fsinfo"
)

// paths are what the options come to.
func (e *environ) paths(ctx context.Context, at *attachment, s *instanceFiles) environment.Paths {
	p := environment.Paths{Network: at.path, RootOn: fsinfo.Of(s.root), DataOn: fsinfo.Of(s.data)}
	switch e.options.Root {
	case "overlay":
		p.Root = "overlay"
		if e.manager != nil {
			p.Root, p.RootOn = e.manager.Roots(ctx)
		}
	case "folder":
		p.Root = "directory, the image's programs mounted from the image"
	case "bind":
		p.Root = "read-only bind mounts of the image's directory"
	}
	switch e.options.Data {
	case "bind":
		p.Data = "bind mount of a directory"
	case "overlay":
		p.Data, p.DataOn = p.Root, p.RootOn
	case "tmpfs":
		p.Data, p.DataOn = "tmpfs", environment.Memory
	default:
		p.Data, p.DataOn = "ext4 on the block device", fsinfo.Device(e.options.Data)
	}
	if !e.options.gvisor() {
		return p
	}
	if e.options.Data == "bind" || blockdevice.Named(e.options.Data) {
		p.Data = "gVisor's gofer, " + p.Data
	}
	if e.options.Root != "overlay" || !e.options.Gvisor.Overlay {
		p.Root = "gVisor's gofer, " + p.Root
		if e.options.Data == "overlay" {
			p.Data = p.Root
		}
		return p
	}
	p.Root, p.RootOn = "gVisor's overlay in a file, above the image's directory", fsinfo.Of(s.data)
	if e.options.Data == "overlay" {
		p.Data, p.DataOn = p.Root, p.RootOn
	}
	return p
}
