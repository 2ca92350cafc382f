package virtualbox

import (
	"context"
	"os/exec"

	"tare/internal/environment"
	"tare/internal/environment/support/hypervisor"
)

var install = environment.Advice("install VirtualBox from virtualbox.org or your distribution")

func requirements(o Options) []environment.Requirement {
	c := client{o.Program, o.RunAs}
	return append([]environment.Requirement{
		environment.Root("root, for cgroups", environment.Advice("sudo tare ..., and run_as: YOU in the study for your own VMs")),
		{What: "VBoxManage that answers, and VirtualBox's kernel modules", Check: c.check},
		{What: "experience with the real VirtualBox", Check: hypervisor.Untried("VBoxManage's command line was tested against a test double, which returns the errors known from its sources and from users' reports")},
	}, o.Requirements(func(ctx context.Context) (hypervisor.Hypervisor, func(), error) { return newBox(o), func() {}, nil })...)
}

func (c client) check(ctx context.Context) environment.Finding {
	if _, err := exec.LookPath(c.Program); err != nil {
		return environment.Lacks(err.Error(), install)
	}
	version, warning, err := c.version(ctx)
	switch {
	case err != nil:
		return environment.Lacks(err.Error(), install)
	case warning != "":
		return environment.Lacks(warning, environment.Advice("/sbin/vboxconfig, or apt-get install -y virtualbox-dkms linux-headers-$(uname -r)"))
	}
	return environment.Finding{State: environment.Usable, Reason: "VirtualBox " + version}
}
