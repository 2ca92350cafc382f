package native

import (
	"cmp"
	"errors"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/oci"
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

	// What the image's programs need not have; "" is the first, and the host's with
	// rootfs: host, whose programs reach the host anyway.

	// Dev is minimal, without disks, or host: the host's /dev.
	Dev string `yaml:"dev" json:"dev,omitempty"`
	// Proc is masked, as Docker masks paths of /proc and /sys, or host.
	Proc string `yaml:"proc" json:"proc,omitempty"`
	// Capabilities are default (Podman's), all, none, or a list: chown,setuid.
	Capabilities string `yaml:"capabilities" json:"capabilities,omitempty"`
}

// Defaults are the default options.
func Defaults() Options {
	return Options{RootFS: "image", Root: "folder", Network: "host", Data: "bind"}
}

// shares reports whether instances are in the host's network.
func (o *Options) shares() bool { return o.Network == "host" || o.Network == "loopback" }

// resolved are the options with values for those that follow from others.
func (o Options) resolved() Options {
	dev, proc, capabilities := "minimal", "masked", "default"
	if o.RootFS == "host" {
		dev, proc, capabilities = "host", "host", "all"
	}
	o.Dev, o.Proc, o.Capabilities = cmp.Or(o.Dev, dev), cmp.Or(o.Proc, proc), cmp.Or(o.Capabilities, capabilities)
	return o
}

// capabilities in the notation of the kind oci.
func (o Options) capabilities() string {
	if asked := o.resolved().Capabilities; asked != "default" {
		return asked
	}
	return oci.PodmanCapabilities
}

// closing are the agent's arguments that take from its programs what they do not need.
func (o Options) closing() (arguments []string, err error) {
	o = o.resolved()
	if o.Dev == "host" {
		arguments = append(arguments, "--host-dev")
	}
	if o.Proc == "masked" {
		for _, path := range oci.MaskedPaths {
			arguments = append(arguments, "--mask", path)
		}
		for _, path := range oci.ReadonlyPaths {
			arguments = append(arguments, "--read-only", path)
		}
	}
	if o.Capabilities == "all" {
		return arguments, nil
	}
	list, err := oci.CapabilitiesOf(o.capabilities(), nil)
	return append(arguments, "--capabilities", strings.Join(list, ",")), err
}

// Validate checks the options.
func (o *Options) Validate() error {
	closed := o.resolved()
	wrong := []error{
		environment.OneOf("rootfs", o.RootFS, "image", "host"),
		environment.OneOf("root", o.Root, "folder", "overlay"),
		environment.OneOf("network", o.Network, "host", "loopback", "bridge", "nat", "none"),
		blockdevice.ValidOption("data", o.Data, "bind", "overlay", "tmpfs"),
		environment.OneOf("dev", closed.Dev, "minimal", "host"),
		environment.OneOf("proc", closed.Proc, "masked", "host"),
	}
	if _, err := oci.CapabilitiesOf(closed.Capabilities, nil); err != nil {
		wrong = append(wrong, err)
	}
	if o.RootFS == "host" && o.Root == "overlay" {
		wrong = append(wrong, strictyaml.AtKey("root", "overlay is for the image's root file system: with rootfs: host the root is the host's own"))
	}
	if o.Data == "overlay" && o.Root != "overlay" {
		wrong = append(wrong, strictyaml.AtKey("data", "overlay is part of the root's overlay: set root: overlay too"))
	}
	return errors.Join(wrong...)
}
