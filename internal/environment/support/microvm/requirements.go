package microvm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/kvm"
	"tare/internal/linux/virtnet"
)

// Requirements of a microVM kind; fix says how to install its program.
func Requirements(name string, o *Options, fix environment.Fix) []environment.Requirement {
	list := []environment.Requirement{
		{What: "an x86-64 host", Check: vmm.CheckProcessor},
		environment.Root("root, for cgroups", environment.AsRoot("sudo tare ...")),
		// Checked before the program, which is useless without KVM.
		{What: "KVM at hardware speed", Check: func(ctx context.Context) environment.Finding { return checkKVM(ctx, name, o) }},
		{What: "the program " + o.Program, Check: func(ctx context.Context) environment.Finding {
			version, err := Version(ctx, o.Program)
			if err != nil {
				return environment.Lacks(err.Error(), fix)
			}
			return environment.Finding{State: environment.Usable, Reason: version}
		}},
		environment.Program("mke2fs, for a fresh data disk", "mke2fs", environment.Install("e2fsprogs")),
	}
	if o.Network != "none" {
		list = append(list, environment.Requirement{What: "taps, for the network", Check: checkTap})
	}
	if o.Network == "nat" {
		list = append(list, environment.Program("iptables, for address translation", virtnet.Masquerader, environment.Install("iptables")))
	}
	return list
}

// Needs is what a microVM kind needs on a machine that has nothing yet: its programs are
// copied from here, since no distribution has them.
func Needs(o *Options, others ...string) (environment.Needs, error) {
	n := vmm.Needs(o.Network)
	for _, name := range append([]string{o.Program}, others...) {
		program, err := environment.CopyProgram(name)
		if err != nil {
			return n, fmt.Errorf("the program %s, to copy into the machine: %w", name, err)
		}
		n.Programs = append(n.Programs, program)
	}
	return n, nil
}

// checkKVM checks KVM, which these VMMs need. They implement vsock themselves, so
// the kernel's vhost-vsock is not needed.
func checkKVM(ctx context.Context, name string, o *Options) environment.Finding {
	r := kvm.Probe(ctx, vmm.ProbeTimeout)
	if !r.Usable {
		if _, err := Version(ctx, o.Program); err != nil {
			r.Reason += "; and " + err.Error()
		}
		return environment.Lacks(r.Reason, environment.Advice("use a host with working KVM; "+name+" has no software emulation (kind qemu has)"))
	}
	return environment.Finding{State: environment.Usable, Reason: r.Reason}
}

func checkTap(context.Context) environment.Finding {
	const device = "/dev/net/tun"
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return environment.Lacks(err.Error(), environment.Run("modprobe tun"))
	}
	f.Close()
	return environment.Finding{State: environment.Usable, Reason: device}
}

// Path returns the absolute path of a program, or its name if it is not found.
func Path(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return path
		}
	}
	return program
}
