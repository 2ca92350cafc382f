package hypervisor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/environment"
	"tare/internal/environment/machine"
)

// Untried is the check of a kind that could only be tested against something
// that stands in for the real thing.
func Untried(reason string) func(context.Context) environment.Finding {
	return func(context.Context) environment.Finding {
		return environment.Finding{State: environment.Caveat, Reason: reason + "; please report differences"}
	}
}

// Requirements are those of every hypervisor: a template that can be used, and
// a key by which its guest is known.
func (o *Options) Requirements(open func(context.Context) (Hypervisor, func(), error)) []environment.Requirement {
	ssh := environment.Requirement{What: "ssh, OpenSSH's client", Check: machine.CheckSSH}
	if o.Template == "" {
		return []environment.Requirement{ssh} // no study names a template
	}
	return []environment.Requirement{
		ssh,
		{What: "a known host key of the guest", Check: o.checkKey},
		{What: "template " + o.Template, Check: func(ctx context.Context) environment.Finding {
			h, shut, err := open(ctx)
			if err != nil {
				return environment.Lacks(err.Error(), environment.Fix{})
			}
			defer shut()
			return o.checkTemplate(ctx, h)
		}},
	}
}

func (o *Options) checkTemplate(ctx context.Context, h Hypervisor) environment.Finding {
	s, err := h.State(ctx, o.Template)
	if err != nil {
		return environment.Lacks(err.Error(), environment.Advice("create the VM, or name another one as template: in the study"))
	}
	if !o.own() && s.On {
		return environment.Lacks(fmt.Sprintf("it is %s, and mode: %s requires a VM that is powered off", s.Word, o.Mode), environment.Advice("power it off, or mode: linked"))
	}
	return environment.Finding{State: environment.Usable, Reason: fmt.Sprintf("%s, %d CPUs, %s", s.Word, s.CPUs, s.Memory)}
}

// checkKey looks for a key of the guest's under its alias.
func (o *Options) checkKey(context.Context) environment.Finding {
	if o.HostKey != "" {
		return environment.Finding{State: environment.Usable, Reason: "host_key"}
	}
	file, given := o.KnownHosts, o.KnownHosts != ""
	if !given {
		home, _ := os.UserHomeDir()
		file = filepath.Join(home, ".ssh", "known_hosts")
	}
	fix := environment.Advice("log in to the template once and copy its /etc/ssh/ssh_host_ed25519_key.pub into host_key, or into a known_hosts file after the name " + o.alias())
	if knows(file, o.alias()) {
		return environment.Finding{State: environment.Usable, Reason: o.alias() + " in " + file}
	}
	reason := fmt.Sprintf("%s has no key of %s", file, o.alias())
	if given {
		return environment.Lacks(reason, fix)
	}
	return environment.Finding{State: environment.Caveat, Reason: reason + "; ssh_config may name another file", Fix: fix}
}

// knows reports whether a known_hosts file has a key for a name, which may be
// hashed.
func knows(file, name string) bool {
	return exec.Command("ssh-keygen", "-F", name, "-f", file).Run() == nil
}
