package qemu

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"tare/internal/environment"
	"tare/internal/kvm"
)

// oldest is the first major version of QEMU whose microvm and options are
// those that are used here.
const oldest = 6

const install = "apt-get install -y qemu-system-x86 qemu-utils"

func requirements(o *Options) []environment.Requirement {
	return []environment.Requirement{
		{What: "an x86-64 host", Check: checkProcessor},
		{What: "root, for cgroups", Check: checkRoot},
		{What: fmt.Sprintf("%s, version %d or newer", program, oldest), Check: checkQEMU},
		{What: "qemu-img, for a fresh root disk", Check: onPath("qemu-img", install)},
		{What: "mke2fs, for a fresh data disk", Check: onPath("mke2fs", "apt-get install -y e2fsprogs")},
		{What: "KVM that runs code at a processor's speed", Check: o.checkKVM},
	}
}

func checkProcessor(context.Context) environment.Finding {
	if !supported() {
		return environment.Finding{State: environment.Missing, Reason: "this host's processor is " + runtime.GOARCH}
	}
	return environment.Finding{State: environment.Usable}
}

func checkRoot(context.Context) environment.Finding {
	if uid := os.Geteuid(); uid != 0 {
		return environment.Finding{State: environment.Missing, Reason: fmt.Sprintf("this is user %d", uid), Mend: "sudo tare ..."}
	}
	return environment.Finding{State: environment.Usable}
}

func checkQEMU(ctx context.Context) environment.Finding {
	v, err := version(ctx)
	switch {
	case err != nil:
		return environment.Finding{State: environment.Missing, Reason: err.Error(), Mend: install}
	case v.major < oldest:
		return environment.Finding{State: environment.Missing, Reason: "QEMU is " + v.text, Mend: install}
	}
	return environment.Finding{State: environment.Usable, Reason: "QEMU " + v.text}
}

func onPath(name, mend string) func(context.Context) environment.Finding {
	return func(context.Context) environment.Finding {
		path, err := exec.LookPath(name)
		if err != nil {
			return environment.Finding{State: environment.Missing, Reason: name + " is not on the PATH", Mend: mend}
		}
		return environment.Finding{State: environment.Usable, Reason: path}
	}
}

// checkKVM: without KVM a guest still runs, in software, unless the study
// insists on it.
func (o *Options) checkKVM(ctx context.Context) environment.Finding {
	if o.Accel == "tcg" {
		return environment.Finding{State: environment.Caveat, Reason: "software emulation (tcg): the options ask for it"}
	}
	r := kvm.Probe(ctx, probeLimit)
	switch {
	case r.Usable:
		return environment.Finding{State: environment.Usable, Reason: r.Reason}
	case o.Accel == "kvm":
		return environment.Finding{State: environment.Missing, Reason: r.Reason, Mend: "accel: auto in the study, for software emulation"}
	}
	return environment.Finding{State: environment.Caveat, Reason: "software emulation (tcg): " + r.Reason}
}

// release is a version of QEMU.
type release struct {
	major int
	text  string // "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"
}

var versionLine = regexp.MustCompile(`version ((\d+)\.\S+(?: \([^)]*\))?)`)

// version asks QEMU for its version.
func version(ctx context.Context) (release, error) {
	if _, err := exec.LookPath(program); err != nil {
		return release{}, fmt.Errorf("%s is not on the PATH", program)
	}
	said, err := exec.CommandContext(ctx, program, "--version").CombinedOutput()
	if err != nil {
		return release{}, fmt.Errorf("%s --version: %w: %s", program, err, strings.TrimSpace(string(said)))
	}
	return parseVersion(string(said))
}

func parseVersion(said string) (release, error) {
	match := versionLine.FindStringSubmatch(said)
	if match == nil {
		return release{}, fmt.Errorf("%s --version printed %q, which has no version in it", program, strings.TrimSpace(said))
	}
	major, err := strconv.Atoi(match[2])
	return release{major: major, text: match[1]}, err
}
