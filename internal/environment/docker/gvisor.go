package docker

import (
	"context"
	"fmt"
	"slices"

	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/image"
)

// gvisor is the environment of either engine; which one is settled once, at
// first use, because New may not ask anybody.
type gvisor struct {
	options GvisorOptions
	settled func(context.Context) (environment.Environment, error)
}

func newGvisor(o GvisorOptions) (*gvisor, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g := &gvisor{options: o}
	g.settled = onceGood(func(ctx context.Context) (environment.Environment, error) {
		if o.engine(ctx) == "docker" {
			return newContainers(theDocker, o.containers())
		}
		return oci.New(o.Direct())
	})
	return g, nil
}

// engine settles auto.
func (o GvisorOptions) engine(ctx context.Context) string {
	switch {
	case o.Engine != "auto":
		return o.Engine
	case slices.Contains([]string{"sandbox", "host"}, o.Network):
		return "direct"
	case o.Network == "bridge",
		theDocker.knows(ctx, o.Socket, o.Runtime).State == environment.Usable:
		return "docker"
	}
	return "direct"
}

// containers are the same options as the kind docker has them.
func (o GvisorOptions) containers() Options {
	network := o.Network
	if network == "" {
		network = "bridge"
	}
	return Options{Socket: o.Socket, Runtime: o.Runtime, Network: network, Log: "none", Seccomp: "default", Data: o.Data}
}

// Direct are the same options as the kind oci has them: of what gVisor takes for
// each of its sandboxes itself, or leaves out, nothing is asked.
func (o GvisorOptions) Direct() oci.Options {
	d := oci.Default()
	d.Runtime, d.Platform, d.Data, d.Network = o.Binary, o.Platform, o.Data, "none"
	if o.Network == "host" {
		d.Network = "host"
	}
	d.Namespaces.Cgroup, d.Masked, d.Devices, d.Seccomp = false, false, false, "unconfined"
	// Docker's, without the one that runsc takes away from anybody.
	d.Capabilities = "audit_write,chown,dac_override,fowner,fsetid,kill,mknod,net_bind_service,setfcap,setgid,setpcap,setuid,sys_chroot"
	return d
}

func (g *gvisor) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	env, err := g.settled(ctx)
	if err != nil {
		return err
	}
	return env.Prepare(ctx, img, progress)
}

func (g *gvisor) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	env, err := g.settled(ctx)
	if err != nil {
		return nil, err
	}
	return env.Start(ctx, r)
}

// NewNetwork makes what the engine that was settled on makes.
func (g *gvisor) NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (environment.Network, error) {
	env, err := g.settled(ctx)
	if err != nil {
		return nil, err
	}
	networked, ok := env.(environment.Networked)
	if !ok {
		return nil, fmt.Errorf("this engine of gVisor has no network between sandboxes")
	}
	return networked.NewNetwork(ctx, o, name)
}

func (g *gvisor) Label() string { return "" }

func (g *gvisor) Versions(ctx context.Context) map[string]string {
	env, err := g.settled(ctx)
	if err != nil {
		return nil
	}
	return env.Versions(ctx)
}

// requiresGvisor lists what must hold for the engine that the options end at.
func requiresGvisor(o GvisorOptions) []environment.Requirement {
	options := o.Direct()
	direct := oci.Requirements(&options)
	switch o.Engine {
	case "docker":
		return requiresEngine(theDocker, o.containers())
	case "direct":
		return direct
	}
	// With auto it is enough that one of the two can work.
	return []environment.Requirement{{
		What: fmt.Sprintf("gVisor: a Docker daemon with the runtime %s, or the program %s", o.Runtime, o.Binary),
		Check: func(ctx context.Context) environment.Finding {
			requirements := direct
			if o.engine(ctx) == "docker" {
				requirements = requiresEngine(theDocker, o.containers())
			}
			last := environment.Finding{}
			for _, r := range requirements {
				if last = r.Check(ctx); last.State == environment.Missing {
					return last
				}
			}
			return last
		},
	}}
}
