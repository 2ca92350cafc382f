package microvm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/kvm"
	"tare/internal/linux/virtnet"
)

// Requirements of a kind whose program can be had by mend.
func Requirements(name string, o *Options, mend string) []environment.Requirement {
	list := []environment.Requirement{
		{What: "an x86-64 host", Check: vmm.CheckProcessor},
		{What: "root, for cgroups", Check: vmm.CheckRoot},
		// Before the program, which is no use without it.
		{What: "KVM that runs code at a processor's speed", Check: func(ctx context.Context) environment.Finding { return checkKVM(ctx, name, o) }},
		{What: "the program " + o.Program, Check: func(ctx context.Context) environment.Finding {
			version, err := Version(ctx, o.Program)
			if err != nil {
				return environment.Finding{State: environment.Missing, Reason: err.Error(), Fix: mend}
			}
			return environment.Finding{State: environment.Usable, Reason: version}
		}},
		{What: "mke2fs, for a fresh data disk", Check: vmm.OnPath("mke2fs", "apt-get install -y e2fsprogs")},
	}
	if o.Network != "none" {
		list = append(list, environment.Requirement{What: "taps, for the network", Check: checkTap})
	}
	if o.Network == "nat" {
		list = append(list, environment.Requirement{What: virtnet.Masquerader + ", for address translation",
			Check: vmm.OnPath(virtnet.Masquerader, "apt-get install -y iptables")})
	}
	return list
}

// checkKVM: these VMMs have no other way to run a guest. Their vsock is their
// own, so the kernel's vhost-vsock is not needed.
func checkKVM(ctx context.Context, name string, o *Options) environment.Finding {
	version, err := Version(ctx, o.Program)
	if err == nil && isDouble(version) {
		return environment.Finding{State: environment.Caveat, Reason: "software emulation (tcg): " + o.Program + " is the double of " + name + " that tare's own tests use"}
	}
	r := kvm.Probe(ctx, vmm.ProbeTimeout)
	if !r.Usable {
		if err != nil {
			r.Reason += "; and " + err.Error()
		}
		return environment.Finding{State: environment.Missing, Reason: r.Reason, Fix: "a machine whose KVM works; " + name + " has no software emulation (kind qemu has)"}
	}
	return environment.Finding{State: environment.Usable, Reason: r.Reason}
}

func checkTap(context.Context) environment.Finding {
	const device = "/dev/net/tun"
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return environment.Finding{State: environment.Missing, Reason: err.Error(), Fix: "modprobe tun"}
	}
	f.Close()
	return environment.Finding{State: environment.Usable, Reason: device}
}

// Path of a program, absolute; the name itself where it is not found.
func Path(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return path
		}
	}
	return program
}
