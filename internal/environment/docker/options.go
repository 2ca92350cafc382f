package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
)

// Options of the kinds docker and podman.
type Options struct {
	// Socket is the engine's, unix:///path. It has to be on this machine,
	// since the agent and the data directory are mounted from here.
	Socket string `yaml:"socket" json:"socket"`
	// Runtime is one of the engine's OCI runtimes; "" is the engine's default.
	Runtime string `yaml:"runtime" json:"runtime,omitempty"`
	// Network is bridge (the engine's own), nat (a bridge made for the instance,
	// whose way out is masqueraded), publish (the engine's own, and Ports at an
	// address of the host), publish-loopback (at one of its loopback), host or none.
	Network string `yaml:"network" json:"network"`
	// Ports are the TCP ports that publish and publish-loopback publish, each the same on
	// both sides: 13379, or 7000-7010.
	Ports []string `yaml:"ports" json:"ports,omitempty"`
	// Log is the log driver. The agent's channel is the container's standard
	// output, so with any other than none all that the workloads print goes
	// through the driver as well.
	Log string `yaml:"log" json:"log"`
	// Seccomp is default (the engine's profile) or unconfined.
	Seccomp string `yaml:"seccomp" json:"seccomp"`
	// Data is where /data lies: in a bind mount of a directory of tare's, in a
	// volume of the engine, in the container's own overlay, in a tmpfs, or on the
	// block device whose path it is.
	Data string `yaml:"data" json:"data"`
}

// DockerHost is where the Docker daemon is expected: $DOCKER_HOST, else its
// usual socket.
func DockerHost() string {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return host
	}
	return "unix:///var/run/docker.sock"
}

// PodmanHost is where Podman's service is expected: $TARE_PODMAN_HOST, else the socket
// of the user's own service if it is there, else that of root's.
func PodmanHost() string {
	if host := os.Getenv("TARE_PODMAN_HOST"); host != "" {
		return host
	}
	if own := ownPodman(os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR")); own != "" {
		if _, err := os.Stat(own); err == nil {
			return "unix://" + own
		}
	}
	return rootPodman
}

const rootPodman = "unix:///run/podman/podman.sock"

// ownPodman is the socket of the service in the session of an ordinary user, see
// podman-system-service(1); "" for root, and without a session.
func ownPodman(uid int, session string) string {
	if uid == 0 || session == "" {
		return ""
	}
	return filepath.Join(session, "podman/podman.sock")
}

// startOwnPodman is the command with which an ordinary user starts a service of their own,
// where none answers at the usual host; none at another one, and where it cannot be started.
func startOwnPodman(host string, uid int, session string) environment.Fix {
	socket := ownPodman(uid, session)
	if socket == "" || host != rootPodman && host != "unix://"+socket || !installed("podman") {
		return environment.Fix{}
	}
	return environment.Fix{Code: environment.FixStart, Own: true, Command: "systemctl --user start podman.socket",
		Alternative: fmt.Sprintf("sh -c 'mkdir -p %s && exec podman system service --time=0 unix://%s' &", filepath.Dir(socket), socket)}
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	if err := environment.OneOf("network", o.Network, "bridge", "nat", "publish", "publish-loopback", "host", "none"); err != nil {
		return err
	}
	if err := environment.OneOf("seccomp", o.Seccomp, "default", "unconfined"); err != nil {
		return err
	}
	if _, err := o.ports(); err != nil {
		return err
	}
	if err := blockdevice.ValidOption("data", o.Data, "bind", "volume", "overlay", "tmpfs"); err != nil {
		return err
	}
	if o.Log == "" {
		return strictyaml.AtKey("log", "no driver is named: write none, or one that the engine has, such as json-file or local")
	}
	if isRunsc(o.Runtime) && o.Network == "host" {
		return ErrHostNetwork
	}
	return ValidSocket(o.Socket)
}

// ErrHostNetwork is why an option is refused: runsc under Docker cannot use the network namespace of the host.
var ErrHostNetwork = strictyaml.AtKey("network", "host does not work with gVisor under Docker: runsc cannot run its own network in the host's network namespace, and what it started stays behind; use network: bridge, or kind: gvisor with engine: direct")

// isRunsc says whether a runtime of an engine is gVisor, by its name: runsc,
// runsc-kvm, io.containerd.runsc.v1.
func isRunsc(runtime string) bool { return strings.Contains(runtime, "runsc") }

// ValidSocket checks that an engine's address is a socket of this machine.
func ValidSocket(host string) error {
	path, ok := strings.CutPrefix(host, "unix://")
	if !ok || !strings.HasPrefix(path, "/") {
		return strictyaml.AtKey("socket", "%q is not a socket of this machine: write unix:///var/run/docker.sock; an engine elsewhere cannot mount the agent from here", host)
	}
	return nil
}
