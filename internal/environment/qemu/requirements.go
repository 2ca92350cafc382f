package qemu

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/kvm"
	"tare/internal/linux/virtnet"
)

// minVersion is the first major version of QEMU with the machine type and the
// options that are used here.
const minVersion = 6

var install = environment.Install("qemu-system-x86", "qemu-utils")

func requirements(o *Options) []environment.Requirement {
	list := []environment.Requirement{
		{What: "an x86-64 host", Check: vmm.CheckProcessor},
		environment.Root("root, for cgroups", environment.AsRoot("sudo tare ...")),
		{What: fmt.Sprintf("%s, version %d or newer", program, minVersion), Check: checkQEMU},
		environment.Program("qemu-img, for a fresh root disk", "qemu-img", install),
		environment.Program("mke2fs, for a fresh data disk", "mke2fs", environment.Install("e2fsprogs")),
		{What: "KVM at hardware speed", Check: o.checkKVM},
	}
	if o.Network == "nat" {
		list = append(list, environment.Program("iptables, for NAT", virtnet.Masquerader, environment.Install("iptables")))
	}
	for _, d := range o.drives() {
		if d.form == deviceForm {
			list = append(list, blockdevice.Requirement(d.path))
		}
		if d.aio == "io_uring" {
			list = append(list, environment.Requirement{What: "a kernel that permits io_uring, for the " + d.id + " disk", Check: checkRing})
		}
	}
	return list
}

func needed(o *Options) environment.Needs {
	n := vmm.Needs(o.Network)
	n.Packages = append(n.Packages, "qemu-system-x86", "qemu-utils")
	n.Commands = append(n.Commands, program, "qemu-img")
	return n
}

func checkQEMU(ctx context.Context) environment.Finding {
	v, err := version(ctx)
	switch {
	case err != nil:
		return environment.Lacks(err.Error(), install)
	case v.major < minVersion:
		return environment.Lacks("QEMU is "+v.text, install)
	}
	return environment.Finding{State: environment.Usable, Reason: "QEMU " + v.text}
}

// checkKVM checks KVM. Without KVM the guest is emulated, unless the options
// require KVM.
func (o *Options) checkKVM(ctx context.Context) environment.Finding {
	if o.Accel == "tcg" {
		return environment.Finding{State: environment.Caveat, Reason: "software emulation (tcg): set by the option accel"}
	}
	r := kvm.Probe(ctx, vmm.ProbeTimeout)
	switch {
	case r.Usable:
		return environment.Finding{State: environment.Usable, Reason: r.Reason}
	case o.Accel == "kvm":
		return environment.Lacks(r.Reason, environment.Advice("accel: auto in the study, for software emulation"))
	}
	return environment.Finding{State: environment.Caveat, Reason: "software emulation (tcg): " + r.Reason}
}

// release is a version of QEMU.
type release struct {
	major int
	text  string // "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"
}

var versionLine = regexp.MustCompile(`version ((\d+)\.\S+(?: \([^)]*\))?)`)

// version runs QEMU to read its version.
func version(ctx context.Context) (release, error) {
	if _, err := exec.LookPath(program); err != nil {
		return release{}, fmt.Errorf("%s is not on the PATH", program)
	}
	output, err := exec.CommandContext(ctx, program, "--version").CombinedOutput()
	if err != nil {
		return release{}, fmt.Errorf("%s --version: %w: %s", program, err, strings.TrimSpace(string(output)))
	}
	return parseVersion(string(output))
}

func parseVersion(output string) (release, error) {
	match := versionLine.FindStringSubmatch(output)
	if match == nil {
		return release{}, fmt.Errorf("no version in the output of %s --version: %q", program, strings.TrimSpace(output))
	}
	major, err := strconv.Atoi(match[2])
	return release{major: major, text: match[1]}, err
}
