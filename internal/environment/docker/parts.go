package docker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/linux/cgroup"
)

// ladderParts declares what the kinds docker and podman offer to ladders. Options
// of the engine itself (its log driver, published ports, volumes) are switched in
// the engine, and all others in a container of the runtime alone.
func ladderParts(b brand) environment.Parts {
	return environment.Parts{
		Switches: []environment.Switch{
			{Option: "data", Values: map[string]environment.Value{"volume": {Name: "volume of the engine", Effect: "/data is a volume of the engine"}}},
			{Option: "log"}, {Option: "runtime"}, {Option: "seccomp"}, {Option: "socket"},
			{Option: "network", Ways: [][]string{{"host", "bridge", "nat"}, {"host", "bridge", "publish", "publish-loopback"}},
				Values: map[string]environment.Value{"publish": {Name: "published ports with NAT and proxy", Effect: "packets to published ports are translated, or pass a proxy"},
					"publish-loopback": {Name: "proxy of the engine", Effect: "the process docker-proxy passes on what comes to published ports"}}},
			{Option: "ports"},
		},
		Facts: func(ctx context.Context, options any) any { return b.facts(ctx, *options.(*Options)) },
		Cross: func(options, facts any) (environment.Crossing, error) {
			return b.cross(*options.(*Options), facts.(Facts)), nil
		},
	}
}

// Facts are what an engine does beyond its options.
type Facts struct {
	// CgroupNamespaces: a container has one, as engines give it on cgroup v2.
	CgroupNamespaces bool
	// Runtime is the program behind the name of a runtime ("" is the default one),
	// and Arguments those that the engine gives it; Err why the engine did not say.
	Runtime   string
	Arguments []string
	Err       error
}

const factsTimeout = 10 * time.Second

// FactsOf asks a Docker daemon.
func FactsOf(ctx context.Context, o Options) Facts { return theDocker.facts(ctx, o) }

func (b brand) facts(ctx context.Context, o Options) Facts {
	ctx, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	program, arguments, err := b.runtime(ctx, o.Socket, o.Runtime)
	return Facts{CgroupNamespaces: cgroup.Mode() == "v2", Runtime: plainName(program), Arguments: arguments, Err: err}
}

func (b brand) cross(o Options, f Facts) environment.Crossing {
	same := oci.Default()
	same.Seccomp, same.Data, same.Network, same.Log = o.Seccomp, o.Data, o.Network, "pipe"
	same.Namespaces.Cgroup = f.CgroupNamespaces
	if b.kind == thePodman.kind {
		same.Capabilities = oci.PodmanCapabilities
	}
	o.Log = "none"
	if o.Data == "volume" {
		o.Data, same.Data = "bind", "bind"
	}
	if o.published() {
		o.Network, same.Network, o.Ports = "bridge", "bridge", nil
	}
	c := f.Crossing(b.kind, same, o.Runtime)
	c.Closest = &o
	c.Enter = environment.Part{Name: "engine and shim of " + b.kind, Group: "engine",
		About: "the engine makes the same container, with its shim, storage and output stream"}
	c.Leave = LeaveEngine(b.kind)
	if !f.CgroupNamespaces {
		c.Notes = append([]string{"cgroup namespace: engines make none on cgroup v1"}, c.Notes...)
	}
	c.Notes = append(c.Notes, fmt.Sprintf("AppArmor and SELinux: the runtime gets no profile, so the cost of a profile under %s is in the rest", b.kind))
	return c
}

// Crossing is a container with these options by the runtime of the engine of a
// kind, or by the one that the name stands for where the engine did not say.
func (f Facts) Crossing(kind string, o oci.Options, name string) environment.Crossing {
	program := f.Runtime
	var notes []string
	if f.Err != nil {
		program = name
		if name == "" {
			program = map[string]string{theDocker.kind: "runc", thePodman.kind: "crun"}[kind]
		}
		notes = []string{fmt.Sprintf("%s did not report its runtime (%v): %s is assumed", kind, f.Err, program)}
	}
	c := oci.EngineCrossing(o, program, f.Arguments)
	c.Notes = notes
	return c
}

// LeaveEngine is the step from a container of a kind to one of the runtime alone.
func LeaveEngine(kind string) environment.Part {
	return environment.Part{Key: "engine-off", Name: "absence of the engine of " + kind, Group: "engine",
		About: "the runtime alone makes the same container"}
}

// plainName is a program's name without its directory where the PATH leads to the
// same program, so that two engines which name it by different paths do not differ
// in it.
func plainName(program string) string {
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
