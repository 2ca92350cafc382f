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
	environment.Register(environment.Registration{
		Kind:  "docker",
		About: "a container of a Docker daemon",
		Options: func() any {
			return &Options{Socket: DockerHost(), Network: "bridge", Log: "none", Seccomp: "default", Data: "bind"}
		},
		Requires:     func(o any) []environment.Requirement { return requiresEngine(theDocker, *o.(*Options)) },
		Needs:        func(o any) (environment.Needs, error) { return theDocker.needs(*o.(*Options)), nil },
		Networks:     func(o any) (string, any) { return theDocker.networks(*o.(*Options)), o },
		New:          func(o any) (environment.Environment, error) { return New(*o.(*Options)) },
		Mounts:       mountable,
		MemoryMounts: mountable,
		Parts:        ladderParts(theDocker),
		Sweep:        theDocker.sweep,
		Forget: func(ctx context.Context, keep func(string) bool) ([]string, error) {
			return RemoveImages(ctx, DockerHost(), keep)
		},
	})
	environment.Register(environment.Registration{
		Kind:  "podman",
		About: "a container of Podman, through its Docker-compatible service",
		Options: func() any {
			return &Options{Socket: PodmanHost(), Network: "bridge", Log: "none", Seccomp: "default", Data: "bind"}
		},
		Requires: func(o any) []environment.Requirement { return requiresEngine(thePodman, *o.(*Options)) },
		Needs:    func(o any) (environment.Needs, error) { return thePodman.needs(*o.(*Options)), nil },
		Networks: func(o any) (string, any) { return thePodman.networks(*o.(*Options)), o },
		New: func(o any) (environment.Environment, error) {
			return newContainers(thePodman, *o.(*Options))
		},
		Mounts:       mountable,
		MemoryMounts: mountable,
		Parts:        ladderParts(thePodman),
		Sweep:        thePodman.sweep,
		Forget: func(ctx context.Context, keep func(string) bool) ([]string, error) {
			return RemoveImages(ctx, PodmanHost(), keep)
		},
	})
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
