// Package docker runs images through a container engine that speaks Docker's
// API (kinds "docker" and "podman") and through gVisor (kind "gvisor"), which
// is either a runtime of such an engine or runsc itself on a bundle of ours.
// docs/environments/docker.md says what each option does and why.
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
		Requires: func(o any) []environment.Requirement { return requiresEngine(theDocker, *o.(*Options)) },
		Needs:    func(o any) (environment.Needs, error) { return theDocker.needs(*o.(*Options)), nil },
		New: func(o any) (environment.Environment, error) {
			return newContainers(theDocker, *o.(*Options))
		},
		Sweep: theDocker.sweep,
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
		New: func(o any) (environment.Environment, error) {
			return newContainers(thePodman, *o.(*Options))
		},
		Sweep: thePodman.sweep,
		Forget: func(ctx context.Context, keep func(string) bool) ([]string, error) {
			return RemoveImages(ctx, PodmanHost(), keep)
		},
	})
	// What gVisor leaves in an engine is swept with that engine, and what runsc
	// leaves by itself lies in the owner's folder and cgroup, or vanishes with the
	// process, as its networks do.
	environment.Register(environment.Registration{
		Kind:  "gvisor",
		About: "gVisor: a sandbox with a kernel of its own in user space",
		Options: func() any {
			return &GvisorOptions{Engine: "auto", Socket: DockerHost(), Runtime: "runsc", Binary: "runsc", Platform: "systrap", Data: "bind"}
		},
		Requires: func(o any) []environment.Requirement { return requiresGvisor(*o.(*GvisorOptions)) },
		Needs:    func(o any) (environment.Needs, error) { return needsOfGvisor(*o.(*GvisorOptions)) },
		New: func(o any) (environment.Environment, error) {
			return newGvisor(*o.(*GvisorOptions))
		},
	})
}
