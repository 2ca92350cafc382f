package vmm

import "tare/internal/environment"

// LadderGuest declares to ladders that a kind boots a guest: the step into it is one
// part.
func LadderGuest(bridged func(options any) bool) *environment.Guest {
	return &environment.Guest{
		Enter: environment.Part{Key: "vm", Name: "virtual machine", Group: "vm",
			About: "a separate kernel on virtual CPUs and virtio devices"},
		Leave:      environment.Part{Key: "vm", Name: "absence of the virtual machine", Group: "vm"},
		EnterNotes: []string{"the guest's kernel, virtual CPUs and virtio devices are one step: no guest runs without them"},
		Notes: []string{"nested paging is a setting of the host's KVM module for all guests at once (kvm_intel ept=0, kvm_amd npt=0): " +
			"no trial can switch it, and under software emulation there is none"},
		Bridged: bridged,
	}
}
