package gvisor

import (
	"fmt"

	"tare/internal/environment"
	"tare/internal/environment/docker"
	"tare/internal/environment/oci"
)

// needs on a machine that has nothing yet: with engine: auto it is runsc itself, since a new machine has
// no daemon.
func needs(o Options) (environment.Needs, error) {
	name := o.Binary
	if o.Engine == "docker" {
		name = o.Runtime
	}
	program, err := environment.CopyProgram(name)
	if err != nil {
		return environment.Needs{}, fmt.Errorf("gVisor's program %s, to copy into the machine: %w; %s", name, err, oci.InstallRunsc.Text)
	}
	if o.Engine != "docker" {
		return environment.Needs{Packages: []string{"iptables"}, Commands: []string{"iptables"}, Programs: []environment.CopiedProgram{program}}, nil
	}
	list := docker.Needs(o.containers())
	list.Programs = []environment.CopiedProgram{program}
	daemon := &list.Services[len(list.Services)-1]
	daemon.Argv = append(daemon.Argv, "--add-runtime="+o.Runtime+"="+program.At)
	return list, nil
}
