package microvm

import (
	"slices"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
)

// LadderParts declares what a microVM kind offers to ladders; of gives its options
// among those of the kind.
func LadderParts(of func(options any) *Options) environment.Parts {
	return environment.Parts{
		Switches: environment.InOrder("cpus", "memory", "kernel_args", "cache", "aio", "network"),
		Guest:    vmm.LadderGuest(func(options any) bool { return slices.Contains([]string{"tap", "nat"}, of(options).Network) }),
		// Address translation is switched after the guest.
		Approach: func(options any, _ environment.Other) {
			if o := of(options); o.Network == "nat" {
				o.Network = "tap"
			}
		},
	}
}
