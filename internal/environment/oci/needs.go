package oci

import (
	"fmt"

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
	program, err := environment.CopyProgram(o.Runtime)
	if err != nil {
		return needs, fmt.Errorf("the runtime %s, to copy into the machine: %w", o.Runtime, err)
	}
	needs.Programs = []environment.CopiedProgram{program}
	return needs, nil
}
