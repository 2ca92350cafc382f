package native

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/environment/support/blockdevice"
)

// Options of the kind "native".
type Options struct {
	// RootFS is "image", the image's root file system, or "host", the host's: then the
	// programs of the host run, which can differ from those of other environments.
	RootFS string `yaml:"rootfs" json:"rootfs"`
	// Root is how the image's root file system is made fresh: directory (a copy of
	// what a program may write to, over the image's own programs) or overlay.
	Root string `yaml:"root" json:"root"`
	// Network is host, loopback (the same with an address for itself), bridge,
	// nat or none: the last three in a network namespace.
	Network string `yaml:"network" json:"network"`
	// Data is where /data lies: bind (a directory on the host's file system),
	// overlay (the root's), tmpfs, or the path of a block device.
	Data string `yaml:"data" json:"data"`
}

// Defaults are the default options.
func Defaults() Options {
	return Options{RootFS: "image", Root: "folder", Network: "host", Data: "bind"}
}

// shares reports whether instances are in the host's network.
func (o *Options) shares() bool { return o.Network == "host" || o.Network == "loopback" }

// Validate checks the options.
func (o *Options) Validate() error {
	var wrong []error
	one := func(key, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			wrong = append(wrong, fmt.Errorf("%s: %q is not known: choose one of %s", key, value, strings.Join(allowed, ", ")))
		}
	}
	one("rootfs", o.RootFS, "image", "host")
	one("root", o.Root, "folder", "overlay")
	one("network", o.Network, "host", "loopback", "bridge", "nat", "none")
	if blockdevice.Named(o.Data) {
		if err := blockdevice.Valid(o.Data); err != nil {
			wrong = append(wrong, fmt.Errorf("data: %w", err))
		}
	} else {
		one("data", o.Data, "bind", "overlay", "tmpfs", "/dev/...")
	}
	if o.RootFS == "host" && o.Root == "overlay" {
		wrong = append(wrong, errors.New("root: overlay is for the image's root file system: with rootfs: host the root is the host's own"))
	}
	if o.Data == "overlay" && o.Root != "overlay" {
		wrong = append(wrong, errors.New("data: overlay is part of the root's overlay: set root: overlay too"))
	}
	return errors.Join(wrong...)
}
