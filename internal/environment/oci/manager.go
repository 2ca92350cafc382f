package oci

import (
	"context"
	"io"
	"maps"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/shims"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/usage"
)

// Manager makes the containers in place of the runtime's command. It has images of its
// own, of which it makes the roots.
type Manager interface {
	// Prepare puts an image where the roots are made of it.
	Prepare(ctx context.Context, img *image.Image, progress func(string)) error
	// Run makes a container and starts it. After an error nothing of it is left.
	Run(ctx context.Context, b Bundle) (Container, error)
	// Roots is the kind of file system of a root, and the host's file system that it is on.
	Roots(ctx context.Context) (kind, on string)
	// Directory is where it keeps the roots.
	Directory() string
	// Facts of a container that the manager alone knows.
	Facts(ctx context.Context) map[string]string
	Versions(ctx context.Context) map[string]string
}

// Bundle is what a manager makes a container of.
type Bundle struct {
	ID        string
	Directory string // of the instance
	Owner     *cleanup.Owner
	Image     *image.Image
	Limits    environment.Limits // for a runtime that does not join the cgroup
	Spec      *specs.Spec        // its root is a relative path, at which the manager mounts it
	Console   io.Writer
}

// facts of a start that only the command lines know, or the manager.
func (e *environ) facts(ctx context.Context) map[string]string {
	facts := e.options.facts()
	if e.manager != nil {
		maps.Copy(facts, e.manager.Facts(ctx))
	}
	return facts
}

// Container is one that a manager started.
type Container interface {
	io.ReadWriteCloser // the agent's standard output and input
	// First is the first process inside.
	First() *shims.Process
	// InGuest reports whether the runtime made a guest, in a cgroup of its own and with the
	// limits inside, in place of joining the container's cgroup.
	InGuest() bool
	// Early is the cgroup in which the processes of a guest were at first; "" if there is none.
	Early() string
	// Helpers are the processes outside of the container's cgroup.
	Helpers() []usage.Process
	// Ended is closed when the first process has exited.
	Ended() <-chan struct{}
	// Remove ends the container and removes all of it, in any state.
	Remove(ctx context.Context) error
}

// Managed makes an environment whose containers a manager makes. The options are those of
// a container with a root of the manager's.
func Managed(o Options, m Manager) (environment.Environment, error) {
	o.Root, o.Log = "overlay", "null"
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newEnviron(o, m)
}

// manage changes the configuration to what a manager takes: it has no bundle before the
// container is made, and nobody else mounts a device or makes a directory in the root.
func manage(o *Options, s *specs.Spec) {
	if o.Data == "overlay" {
		s.Process.Cwd = "/data" // which the runtime makes
	}
	for n := range s.Mounts {
		if s.Mounts[n].Destination == "/data" && blockdevice.Named(o.Data) {
			s.Mounts[n] = specs.Mount{Destination: "/data", Type: "ext4", Source: o.Data, Options: []string{"nosuid", "nodev"}}
		}
	}
}
