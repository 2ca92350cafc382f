package gvisor

import (
	"fmt"
	"os/exec"
	"path/filepath"

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
	file, err := exec.LookPath(name)
	if err != nil {
		return environment.Needs{}, fmt.Errorf("gVisor's program %s, to copy into the machine: %w; %s", name, err, oci.InstallRunsc)
	}
	if file, err = filepath.Abs(file); err != nil {
		return environment.Needs{}, err
	}
	program := environment.Program{File: file, At: name}
	if !filepath.IsAbs(name) {
		program.At = "/usr/local/bin/" + filepath.Base(name)
	}
	if o.Engine != "docker" {
		return environment.Needs{Packages: []string{"iptables"}, Commands: []string{"iptables"}, Programs: []environment.Program{program}}, nil
	}
	list := docker.Needs(o.containers())
	list.Programs = []environment.Program{program}
	daemon := &list.Services[0]
	daemon.Argv = append(daemon.Argv, "--add-runtime="+o.Runtime+"="+program.At)
	return list, nil
}
