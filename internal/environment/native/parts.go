package native

import (
	"tare/internal/environment"
	"tare/internal/environment/oci"
)

// ladderParts declares what the kind offers to ladders. As an OCI runtime has it,
// a native process is a container without any isolation.
var ladderParts = environment.Parts{
	Switches: []environment.Switch{
		{Option: "rootfs", Values: map[string]environment.Value{
			"image": {Name: "image's programs", Effect: "the image's programs run instead of the host's, with a minimal /dev, masked paths and few capabilities"},
			"host":  {Name: "host's programs", Effect: "the host's programs run instead of the image's, with the host's /dev and all capabilities"},
		}},
		{Option: "dev", Values: map[string]environment.Value{
			"none": minimal, "minimal": minimal, "host": {Name: "host's /dev", Effect: "the instance has the host's devices"},
		}},
		{Option: "proc", Values: map[string]environment.Value{
			"none": masked, "masked": masked, "host": {Name: "absence of masked paths", Effect: "no path of /proc and /sys is hidden or read-only by a mount"},
		}},
		{Option: "capabilities"},
		{Option: "network", Ways: [][]string{{"host", "bridge", "nat"}}},
	},
	Cross: func(options, _ any) (environment.Crossing, error) { return cross(*options.(*Options)), nil },
	// A guest at a bridge is compared with a process at a bridge.
	Approach: func(options any, other environment.Other) {
		if o := options.(*Options); other.Bridged && o.shares() {
			o.Network = "bridge"
		}
	},
}

// Values that are also the defaults, which an absent option has.
var (
	minimal = environment.Value{Name: "minimal /dev", Effect: "the instance has no disks and no other hardware in /dev"}
	masked  = environment.Value{Name: "masked paths", Effect: "paths of /proc and /sys are hidden or read-only by additional mounts"}
)

func cross(o Options) environment.Crossing {
	o.RootFS = "image"
	if o.Dev == "host" {
		o.Dev = "minimal" // as every runtime makes it
	}
	bare := oci.Bare()
	bare.Limits = true           // native has the study's limits in a group of its own
	bare.Namespaces.Mount = true // and a mount namespace
	bare.Masked, bare.Capabilities = o.resolved().Proc == "masked", o.capabilities()
	bare.Root, bare.Data = o.Root, o.Data
	if o.Network == "loopback" {
		o.Network = "host"
	}
	bare.Network = o.Network
	c := oci.Crossing(bare)
	c.Closest, c.Indifferent = &o, []string{oci.AnyRuntime}
	c.Leave = environment.Part{Key: "runtime", Name: "start by a runtime", Group: "runtime",
		About: "an OCI runtime starts the agent, with no more isolation than native has"}
	c.Enter = environment.Part{Name: "absence of the runtime", Group: "runtime", About: "tare starts the agent"}
	return c
}
