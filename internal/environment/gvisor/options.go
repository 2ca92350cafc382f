package gvisor

import (
	"fmt"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/docker"
)

// Options of the kind gvisor.
type Options struct {
	// Engine is docker (runsc as a runtime of a Docker daemon), direct (runsc
	// itself) or auto: docker where the daemon knows the runtime and the network
	// asked for is one that it can give, else direct.
	Engine string `yaml:"engine" json:"engine"`
	// Network is bridge or none under docker; sandbox, host or none with runsc
	// itself; "" is bridge and sandbox.
	Network string `yaml:"network" json:"network,omitempty"`
	// Data is bind or overlay, and under docker also volume.
	Data string `yaml:"data" json:"data"`

	// Socket and Runtime are for docker.
	Socket  string `yaml:"socket" json:"socket"`
	Runtime string `yaml:"runtime" json:"runtime"`

	// Binary and Platform (systrap, ptrace or kvm) are for direct: under docker
	// the daemon's configuration says them.
	Binary   string `yaml:"binary" json:"binary"`
	Platform string `yaml:"platform" json:"platform"`
	// Directfs lets the sandbox open files itself, and not through its gofer. Under docker the
	// daemon's configuration says it.
	Directfs bool `yaml:"directfs" json:"directfs"`
}

// defaults are the options where a study says nothing.
func defaults() *Options {
	return &Options{Engine: "auto", Socket: docker.DockerHost(), Runtime: "runsc", Binary: "runsc", Platform: "systrap", Data: "bind", Directfs: true}
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	if err := environment.OneOf("engine", o.Engine, "auto", "docker", "direct"); err != nil {
		return err
	}
	if err := environment.OneOf("platform", o.Platform, "systrap", "ptrace", "kvm"); err != nil {
		return err
	}
	networks := map[string][]string{
		"auto":   {"", "bridge", "sandbox", "host", "none"},
		"docker": {"", "bridge", "none"},
		"direct": {"", "sandbox", "host", "none"},
	}[o.Engine]
	if o.Engine == "docker" && o.Network == "host" {
		return docker.ErrHostNetwork
	}
	if err := environment.OneOf("network", o.Network, networks...); err != nil {
		return fmt.Errorf("%w (with engine: %s)", err, o.Engine)
	}
	if o.Engine == "docker" && !o.Directfs {
		return strictyaml.AtKey("directfs", "the daemon's configuration of the runtime says it; engine: direct has this option")
	}
	data := []string{"bind", "overlay"}
	if o.Engine == "docker" {
		data = append(data, "volume")
	}
	if err := environment.OneOf("data", o.Data, data...); err != nil {
		return fmt.Errorf("%w (with engine: %s)", err, o.Engine)
	}
	if o.Engine != "docker" && o.Binary == "" {
		return strictyaml.AtKey("binary", "name runsc's program, such as /usr/local/bin/runsc")
	}
	if o.Engine == "direct" {
		return nil
	}
	if o.Runtime == "" {
		return strictyaml.AtKey("runtime", "name the Docker runtime that is gVisor, such as runsc")
	}
	return docker.ValidSocket(o.Socket)
}
