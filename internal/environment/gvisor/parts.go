package gvisor

import (
	"context"

	"tare/internal/environment"
	"tare/internal/environment/docker"
	"tare/internal/environment/oci"
)

// ladderParts declares what the kind offers to ladders: the parts of a sandbox are
// those of runsc on a bundle (GvisorSwitches and enterGvisor of the kind oci).
var ladderParts = environment.Parts{
	Switches: environment.InOrder("network"),
	Facts:    func(ctx context.Context, options any) any { return factsOf(ctx, *options.(*Options)) },
	Cross: func(options, facts any) (environment.Crossing, error) {
		return cross(*options.(*Options), facts.(Facts)), nil
	},
}

// Facts are what the kind does beyond its options.
type Facts struct {
	Engine string       // what engine: auto comes to: docker or direct
	Docker docker.Facts // of the daemon, with engine docker
}

func factsOf(ctx context.Context, o Options) Facts {
	f := Facts{Engine: o.resolve(ctx)}
	if f.Engine == "docker" {
		f.Docker = docker.FactsOf(ctx, o.containers())
	}
	return f
}

func cross(o Options, f Facts) (c environment.Crossing) {
	if f.Engine == "docker" {
		c = crossEngine(&o, f.Docker)
		c.Enter = environment.Part{Name: "engine and shim of docker", Group: "engine",
			About: "Docker makes the same sandbox, with its shim, storage and output stream"}
	} else {
		c = oci.EngineCrossing(o.direct(), o.Binary, []string{"--platform=" + o.Platform})
		c.Enter = environment.Part{Name: "start of gvisor", Group: "engine", About: "the kind gvisor makes the same sandbox"}
	}
	c.Closest, c.Leave = &o, docker.LeaveEngine("gvisor")
	return c
}

// crossEngine changes the options to those without what only the engine has.
func crossEngine(o *Options, f docker.Facts) environment.Crossing {
	same := oci.Default()
	same.Data, same.Network, same.Log = o.Data, o.containers().Network, "pipe"
	if o.Data == "volume" {
		o.Data, same.Data = "bind", "bind"
	}
	return f.Crossing("docker", same, o.Runtime)
}
