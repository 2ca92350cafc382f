// Package gvisor runs an image under gVisor: a sandbox whose system calls are
// served by a kernel in user space. The sandbox is made either by a Docker daemon
// that has runsc as a runtime (package docker), or by runsc itself on an OCI
// bundle (package oci). docs/reference/environments/docker.md says what each option does.
//
// It must not know workloads, studies or statistics, nor how containers and
// bundles are made: it chooses the engine and translates the options.
package gvisor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"tare/internal/environment"
	"tare/internal/environment/docker"
	"tare/internal/environment/oci"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "gvisor",
		About:    "gVisor: a sandbox with a kernel in user space",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(*o.(*Options)) },
		New:      func(o any) (environment.Environment, error) { return &sandboxes{options: *o.(*Options)}, nil },
		Capabilities: func(o any) environment.Capabilities {
			c := environment.Capabilities{Mounts: true, MemoryMounts: true}
			if resolved := *o.(*Options); resolved.Engine != "direct" {
				resolved.Engine = "docker"
				c.SharedNetwork, c.Resolved = docker.Networks(resolved.containers()), &resolved
			}
			return c
		},
		Parts: ladderParts,
		Needs: func(o any) (environment.Needs, error) { return needs(*o.(*Options)) },
		// The kind docker sweeps what a daemon keeps.
	})
}

// sandboxes is the environment with either engine.
type sandboxes struct {
	options Options

	mutex  sync.Mutex
	chosen environment.Environment
}

// engine chooses the engine at first use, since New may not contact a daemon, and
// keeps it.
func (s *sandboxes) engine(ctx context.Context) (environment.Environment, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.chosen != nil {
		return s.chosen, nil
	}
	var err error
	if s.options.resolve(ctx) == "docker" {
		s.chosen, err = docker.New(s.options.containers())
	} else {
		s.chosen, err = oci.New(s.options.direct())
	}
	if err != nil {
		s.chosen = nil
	}
	return s.chosen, err
}

// resolve returns the engine that the options lead to: docker or direct.
func (o Options) resolve(ctx context.Context) string {
	switch {
	case o.Engine != "auto":
		return o.Engine
	case slices.Contains([]string{"sandbox", "host"}, o.Network), !o.Directfs:
		return "direct"
	case o.Network == "bridge",
		docker.CheckRuntime(ctx, o.Socket, o.Runtime).State == environment.Usable:
		return "docker"
	}
	return "direct"
}

// containers are the same options for the kind docker.
func (o Options) containers() docker.Options {
	network := o.Network
	network = cmp.Or(network, "bridge")
	return docker.Options{Socket: o.Socket, Runtime: o.Runtime, Network: network, Log: "none", Seccomp: "default", Data: o.Data}
}

// direct are the same options for the kind oci, without what runsc sets for each sandbox
// or ignores.
func (o Options) direct() oci.Options {
	d := oci.Default()
	d.Runtime, d.Platform, d.Data, d.Network = o.Binary, o.Platform, o.Data, "none"
	if o.Network == "host" {
		d.Network = "host"
	}
	d.Gvisor.Directfs = o.Directfs
	d.Namespaces.Cgroup, d.Masked, d.Devices, d.Seccomp = false, false, false, "unconfined"
	// Docker's, without net_raw, which runsc always drops.
	d.Capabilities = "audit_write,chown,dac_override,fowner,fsetid,kill,mknod,net_bind_service,setfcap,setgid,setpcap,setuid,sys_chroot"
	return d
}

func (s *sandboxes) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	env, err := s.engine(ctx)
	if err != nil {
		return err
	}
	return env.Prepare(ctx, img, progress)
}

func (s *sandboxes) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	env, err := s.engine(ctx)
	if err != nil {
		return nil, err
	}
	return env.Start(ctx, r)
}

// NewNetwork makes a network of the chosen engine.
func (s *sandboxes) NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (environment.Network, error) {
	env, err := s.engine(ctx)
	if err != nil {
		return nil, err
	}
	return env.NewNetwork(ctx, o, name)
}

func (s *sandboxes) Label() string { return "" }

func (s *sandboxes) Versions(ctx context.Context) map[string]string {
	env, err := s.engine(ctx)
	if err != nil {
		return nil
	}
	return env.Versions(ctx)
}

// requirements list what must hold for the engine that the options end at.
func requirements(o Options) []environment.Requirement {
	options := o.direct()
	direct := oci.Requirements(&options)
	switch o.Engine {
	case "docker":
		return docker.Requirements(o.containers())
	case "direct":
		return direct
	}
	// With auto it is enough that one of the two can work.
	return []environment.Requirement{{
		What: fmt.Sprintf("gVisor: a Docker daemon with the runtime %s, or the program %s", o.Runtime, o.Binary),
		Check: func(ctx context.Context) environment.Finding {
			list := direct
			if o.resolve(ctx) == "docker" {
				list = docker.Requirements(o.containers())
			}
			last := environment.Finding{}
			for _, r := range list {
				if last = r.Check(ctx); last.State == environment.Missing {
					return last
				}
			}
			return last
		},
	}}
}
