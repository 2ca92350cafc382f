package docker

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"tare/internal/environment/support/blockdevice"
)

// Options of the kinds docker and podman.
type Options struct {
	// Socket is the engine's, unix:///path. It has to be on this machine,
	// since the agent and the data folder are mounted from here.
	Socket string `yaml:"socket" json:"socket"`
	// Runtime is one of the engine's OCI runtimes; "" is the engine's default.
	Runtime string `yaml:"runtime" json:"runtime,omitempty"`
	// Network is bridge (the engine's own), nat (a bridge made for the instance,
	// whose way out is masqueraded), publish (the engine's own, and Ports at an
	// address of the host), host or none.
	Network string `yaml:"network" json:"network"`
	// Ports are the TCP ports that network: publish publishes, each the same on
	// both sides: 16379, or 7000-7010.
	Ports []string `yaml:"ports" json:"ports,omitempty"`
	// Log is the log driver. The agent's channel is the container's standard
	// output, so with any other than none all that the workloads print goes
	// through the driver as well.
	Log string `yaml:"log" json:"log"`
	// Seccomp is default (the engine's profile) or unconfined.
	Seccomp string `yaml:"seccomp" json:"seccomp"`
	// Data is where /data lies: in a bind mount of a folder of tare's, in a
	// volume of the engine, in the container's own overlay, in a tmpfs, or on the
	// block device whose path it is.
	Data string `yaml:"data" json:"data"`
}

// GvisorOptions of the kind gvisor.
type GvisorOptions struct {
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
}

// DockerHost is where the Docker daemon is expected: $DOCKER_HOST, else its
// usual socket.
func DockerHost() string {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return host
	}
	return "unix:///var/run/docker.sock"
}

// PodmanHost is where Podman's service is expected: $TARE_PODMAN_HOST, else its
// usual socket.
func PodmanHost() string {
	if host := os.Getenv("TARE_PODMAN_HOST"); host != "" {
		return host
	}
	return "unix:///run/podman/podman.sock"
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	if err := oneOf("network", o.Network, "bridge", "nat", "publish", "host", "none"); err != nil {
		return err
	}
	if err := oneOf("seccomp", o.Seccomp, "default", "unconfined"); err != nil {
		return err
	}
	if _, err := o.ports(); err != nil {
		return err
	}
	if blockdevice.Named(o.Data) {
		if err := blockdevice.Valid(o.Data); err != nil {
			return fmt.Errorf("data: %w", err)
		}
	} else if err := oneOf("data", o.Data, "bind", "volume", "overlay", "tmpfs", "/dev/..."); err != nil {
		return err
	}
	if o.Log == "" {
		return fmt.Errorf("log: no driver is named: write none, or one that the engine has, such as json-file or local")
	}
	if isRunsc(o.Runtime) && o.Network == "host" {
		return errHostNetwork
	}
	return validSocket(o.Socket)
}

// Validate says what is wrong with the options.
func (o *GvisorOptions) Validate() error {
	if err := oneOf("engine", o.Engine, "auto", "docker", "direct"); err != nil {
		return err
	}
	if err := oneOf("platform", o.Platform, "systrap", "ptrace", "kvm"); err != nil {
		return err
	}
	networks := map[string][]string{
		"auto":   {"", "bridge", "sandbox", "host", "none"},
		"docker": {"", "bridge", "none"},
		"direct": {"", "sandbox", "host", "none"},
	}[o.Engine]
	if o.Engine == "docker" && o.Network == "host" {
		return errHostNetwork
	}
	if err := oneOf("network", o.Network, networks...); err != nil {
		return fmt.Errorf("%w (with engine: %s)", err, o.Engine)
	}
	data := []string{"bind", "overlay"}
	if o.Engine == "docker" {
		data = append(data, "volume")
	}
	if err := oneOf("data", o.Data, data...); err != nil {
		return fmt.Errorf("%w (with engine: %s)", err, o.Engine)
	}
	if o.Engine != "docker" && o.Binary == "" {
		return fmt.Errorf("binary: name runsc's program, such as /usr/local/bin/runsc")
	}
	if o.Engine == "direct" {
		return nil
	}
	if o.Runtime == "" {
		return fmt.Errorf("runtime: name the Docker runtime that is gVisor, such as runsc")
	}
	return validSocket(o.Socket)
}

var errHostNetwork = fmt.Errorf("network: host does not work with gVisor under Docker: runsc cannot run its own network in the host's network namespace, and what it started stays behind; use network: bridge, or kind: gvisor with engine: direct")

// isRunsc says whether a runtime of an engine is gVisor, by its name: runsc,
// runsc-kvm, io.containerd.runsc.v1.
func isRunsc(runtime string) bool { return strings.Contains(runtime, "runsc") }

func validSocket(host string) error {
	path, ok := strings.CutPrefix(host, "unix://")
	if !ok || !strings.HasPrefix(path, "/") {
		return fmt.Errorf("socket: %q is no socket of this machine: write unix:///var/run/docker.sock; an engine elsewhere cannot mount the agent from here", host)
	}
	return nil
}

func oneOf(key, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	names := slices.DeleteFunc(slices.Clone(known), func(s string) bool { return s == "" })
	return fmt.Errorf("%s: %q is not known: choose one of %s", key, value, strings.Join(names, ", "))
}
