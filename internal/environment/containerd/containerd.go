// Package containerd runs images in containers of containerd, without Docker: image,
// snapshot, container and task in a namespace of tare's, and a shim of containerd around the
// OCI runtime. Package oci makes the specification, cgroup and network.
//
// It must not know workloads, studies or statistics.
package containerd

import (
	"context"
	"fmt"
	"os"

	"tare/internal/environment"
	"tare/internal/environment/oci"
)

func init() {
	environment.Register(environment.Registration{
		Kind:  "containerd",
		About: "a container of containerd, without Docker",
		Options: func() any {
			return &Options{Address: Address(), Runtime: runcShim, Network: "bridge", Seccomp: "default", Data: "bind"}
		},
		Requires: func(o any) []environment.Requirement { return o.(*Options).requirements() },
		New: func(o any) (environment.Environment, error) {
			options := *o.(*Options)
			return oci.Managed(options.container(), &manager{options: options})
		},
		Capabilities: func(any) environment.Capabilities {
			return environment.Capabilities{Mounts: true, MemoryMounts: true}
		},
		Parts:  parts,
		Needs:  func(o any) (environment.Needs, error) { return o.(*Options).needs() },
		Sweep:  sweep,
		Forget: forget,
	})
}

// Address is the socket of containerd: $CONTAINERD_ADDRESS, as for ctr and nerdctl, else the
// usual one.
func Address() string {
	if address := os.Getenv("CONTAINERD_ADDRESS"); address != "" {
		return address
	}
	return "/run/containerd/containerd.sock"
}

// parts cross to the kind oci, whose runtime makes the same container.
var parts = environment.Parts{
	Switches: environment.InOrder("data", "runtime", "binary", "seccomp", "network"),
	Cross: func(options, _ any) (environment.Crossing, error) {
		o := *options.(*Options)
		same := o.container()
		same.Log = "pipe"
		c := oci.EngineCrossing(same, same.Runtime, nil)
		c.Closest = &o
		c.Enter = environment.Part{Name: "engine and shim of containerd", Group: "engine",
			About: "containerd makes the same container, with its shim, storage and output stream"}
		c.Leave = environment.Part{Key: "engine-off", Name: "absence of the engine of containerd", Group: "engine",
			About: "the runtime alone makes the same container"}
		return c, nil
	},
}

// needs on a machine that has nothing yet.
func (o *Options) needs() (environment.Needs, error) {
	n := environment.Needs{
		Packages: []string{"containerd", "runc", "iptables"}, Commands: []string{"containerd", "runc", "iptables"},
		Services:    []environment.Service{{Argv: []string{"sh", "-c", service, "containerd", o.Address}, Ready: probe(o.Address)}},
		Directories: []string{"/var/lib/containerd"},
	}
	if o.Binary == "crun" {
		n.Packages, n.Commands = append(n.Packages, "crun"), append(n.Commands, "crun")
	} else if o.Binary != "" {
		program, err := environment.CopyProgram(o.Binary)
		if err != nil {
			return n, fmt.Errorf("the runtime %s, to copy into the machine: %w", o.Binary, err)
		}
		n.Programs = append(n.Programs, program)
	}
	if o.Runtime != runcShim {
		program, err := environment.CopyProgram(oci.Shim(o.Runtime))
		if err != nil {
			return n, fmt.Errorf("the shim of the runtime %s, to copy into the machine: %w", o.Runtime, err)
		}
		n.Programs = append(n.Programs, program)
	}
	return n, nil
}

// service starts containerd without its part for pods, which nobody asks.
const service = `mkdir -p "$(dirname "$1")" && printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >/run/containerd.toml && ` +
	`exec containerd --config=/run/containerd.toml --address="$1"`

// versions of the daemon and the runtime.
func (m *manager) Versions(ctx context.Context) map[string]string {
	list := map[string]string{}
	if version, err := m.version(ctx); err == nil {
		list["containerd"] = version
	}
	if program := m.options.family(); program != "kata" {
		if version := oci.Version(ctx, m.options.program()); version != "" {
			list[program] = version
		}
	}
	return list
}
