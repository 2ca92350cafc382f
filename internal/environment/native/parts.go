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
			"image": {Name: "image's programs", Effect: "the image's programs run instead of the host's"},
			"host":  {Name: "host's programs", Effect: "the host's programs run instead of the image's"},
		}},
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

func cross(o Options) environment.Crossing {
	bare := oci.Bare()
	bare.Limits = true // native has the study's limits in a group of its own
	bare.Root, bare.Data = o.Root, o.Data
	if o.Network == "loopback" {
		o.Network = "host"
	}
	bare.Network, o.RootFS = o.Network, "image"
	c := oci.Crossing(bare)
	c.Closest, c.Indifferent = &o, []string{oci.AnyRuntime}
	c.Leave = environment.Part{Key: "runtime", Name: "start by a runtime", Group: "runtime",
		About: "an OCI runtime starts the agent, without isolation"}
	c.Enter = environment.Part{Name: "absence of the runtime", Group: "runtime", About: "tare starts the agent"}
	return c
}
