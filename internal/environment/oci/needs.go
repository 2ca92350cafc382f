package oci

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"tare/internal/environment"
)

// packaged are the runtimes that the distribution has.
var packaged = map[string]string{"runc": "runc", "crun": "crun"}

// needs on a machine that has nothing yet: the runtime, from its package or from
// here.
func (o *Options) needs() (environment.Needs, error) {
	needs := environment.Needs{Packages: []string{"iptables"}, Commands: []string{"iptables"}}
	if name, known := packaged[o.Runtime]; known {
		needs.Packages, needs.Commands = append(needs.Packages, name), append(needs.Commands, name)
		return needs, nil
	}
	file, err := exec.LookPath(o.Runtime)
	if err == nil {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return needs, fmt.Errorf("the runtime %s, to copy into the machine: %w", o.Runtime, err)
	}
	program := environment.Program{File: file, At: o.Runtime}
	if !filepath.IsAbs(o.Runtime) {
		program.At = "/usr/local/bin/" + filepath.Base(o.Runtime)
	}
	needs.Programs = []environment.Program{program}
	return needs, nil
}
