package vmm

import (
	"tare/internal/environment"
	"tare/internal/linux/virtnet"
)

// Needs is what guests need on a machine that has nothing yet, besides their VMM: one of
// the two modules of KVM fits the processor.
func Needs(network string) environment.Needs {
	n := environment.Needs{
		Packages: []string{"e2fsprogs"}, Commands: []string{"mke2fs"},
		Modules: []string{"kvm_amd", "kvm_intel", "tun"}, Guests: true,
	}
	if network == "nat" {
		n.Packages, n.Commands = append(n.Packages, "iptables"), append(n.Commands, virtnet.Masquerader)
	}
	return n
}
