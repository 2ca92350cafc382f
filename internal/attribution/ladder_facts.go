package attribution

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tare/internal/environment/docker"
	"tare/internal/linux/cgroup"
)

// Facts are what a ladder depends on besides the options: what engines do by
// themselves.
type Facts struct {
	// CgroupNamespaces: engines give a container a cgroup namespace, as they do on
	// cgroup v2.
	CgroupNamespaces bool
	// Runtime is the program behind the name of an engine's runtime ("" is its
	// default one), and the arguments that the engine gives it. The kind is docker
	// or podman.
	Runtime func(kind, socket, name string) (program string, arguments []string, err error)
	// Gvisor is what engine: auto comes to: docker or direct.
	Gvisor func(docker.GvisorOptions) string
}

// ThisMachine asks this machine and its engines.
func ThisMachine() *Facts {
	const patience = 10 * time.Second
	return &Facts{
		CgroupNamespaces: cgroup.Mode() == "v2",
		Runtime: func(kind, socket, name string) (string, []string, error) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			program, arguments, err := docker.Runtime(ctx, kind, socket, name)
			return plain(program), arguments, err
		},
		Gvisor: func(o docker.GvisorOptions) string {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return o.Settled(ctx)
		},
	}
}

// plain is a program's name without its folder, where that leads to the same
// program: so two engines that call it by different paths do not differ in it.
func plain(program string) string {
	name := filepath.Base(program)
	found, err := exec.LookPath(name)
	if err != nil || !sameProgram(found, program) {
		return program
	}
	return name
}

func sameProgram(a, b string) bool {
	if at, err := exec.LookPath(b); err == nil {
		b = at
	}
	one, err := os.Stat(a)
	two, other := os.Stat(b)
	if err != nil || other != nil {
		return false
	}
	return os.SameFile(one, two)
}
