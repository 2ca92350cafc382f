// Package docker runs images through a container engine that speaks Docker's
// API: the kinds docker and podman.
// docs/reference/environments/docker.md says what each option does and why.
//
// It must not know workloads, studies or statistics, nor how an image is made:
// it is handed one and puts it where the engine wants it.
package docker

import (
	"context"

	"tare/internal/environment"
)

func init() {
	environment.Register(theDocker.registration("a container of a Docker daemon", DockerHost))
	environment.Register(thePodman.registration("a container of Podman, through its Docker-compatible service", PodmanHost))
}

func (b brand) registration(about string, socket func() string) environment.Registration {
	return environment.Registration{
		Kind:  b.kind,
		About: about,
		Options: func() any {
			return &Options{Socket: socket(), Network: "bridge", Log: "none", Seccomp: "default", Data: "bind"}
		},
		Requires: func(o any) []environment.Requirement { return requiresEngine(b, *o.(*Options)) },
		New:      func(o any) (environment.Environment, error) { return newContainers(b, *o.(*Options)) },
		Capabilities: func(o any) environment.Capabilities {
			options := o.(*Options)
			c := environment.Capabilities{Mounts: true, MemoryMounts: true, SharedNetwork: b.networks(*options)}
			c.PortsOption, c.Ports = options.publishes()
			return c
		},
		Parts: ladderParts(b),
		Needs: func(o any) (environment.Needs, error) { return b.needs(*o.(*Options)), nil },
		Sweep: b.sweep,
		Forget: func(ctx context.Context, keep func(string) bool) ([]string, error) {
			return RemoveImages(ctx, socket(), keep)
		},
	}
}

// New makes the environment of the kind docker with these options.
func New(o Options) (environment.Environment, error) { return newContainers(theDocker, o) }

// Requirements lists what must hold for the kind docker with these options.
func Requirements(o Options) []environment.Requirement { return requiresEngine(theDocker, o) }

// Needs of the kind docker on a machine that another environment started.
func Needs(o Options) environment.Needs { return theDocker.needs(o) }

// CheckRuntime checks that the Docker daemon at a socket has a runtime of this
// name, and that its program works.
func CheckRuntime(ctx context.Context, socket, name string) environment.Finding {
	return theDocker.knows(ctx, socket, name)
}
