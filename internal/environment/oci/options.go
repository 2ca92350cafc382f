package oci

import (
	"path/filepath"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
)

// Options of the kind oci. Each part of the isolation is a switch of its own;
// Switches lists them.
type Options struct {
	// Runtime is the name or the path of an OCI runtime's program.
	Runtime string `yaml:"runtime" json:"runtime"`
	// RuntimeArgs stand before the runtime's command: --debug, --oci-seccomp.
	RuntimeArgs []string `yaml:"runtime_args" json:"runtime_args,omitempty"`
	// Platform of gVisor: systrap, ptrace or kvm; "" is systrap, and nothing for
	// other runtimes.
	Platform string `yaml:"platform" json:"platform,omitempty"`
	// Gvisor are its parts; they mean nothing to other runtimes.
	Gvisor Gvisor `yaml:"gvisor" json:"gvisor"`

	// Namespaces that the instance has for itself. That of the network follows
	// from Network.
	Namespaces Namespaces `yaml:"namespaces" json:"namespaces"`
	// Limits says whether the study's limits are put on the instance's cgroup. The
	// group is there either way: what it uses is counted in it.
	Limits bool `yaml:"cgroup_limits" json:"cgroup_limits"`
	// Devices says whether a filter lets the instance open no more than a few
	// harmless devices.
	Devices bool `yaml:"devices" json:"devices"`
	// Masked says whether parts of /proc and /sys are hidden or read-only.
	Masked bool `yaml:"masked" json:"masked"`
	// Seccomp is default (Docker's profile), unconfined, or the absolute path of a
	// profile in Docker's format.
	Seccomp string `yaml:"seccomp" json:"seccomp"`
	// Capabilities are default (Docker's), all, none, or a list: chown,setuid.
	Capabilities string `yaml:"capabilities" json:"capabilities"`
	// NoNewPrivs keeps programs from gaining privileges by their set-user-ID bit.
	NoNewPrivs bool `yaml:"no_new_privs" json:"no_new_privs"`

	// Root is overlay (over the image's directory), directory (a fresh copy, as native
	// has it) or bind (the image's directory, read-only, with a tmpfs where programs
	// write).
	Root string `yaml:"root" json:"root"`
	// Data is where /data lies: bind (a directory of tare's), overlay (in the root),
	// tmpfs, or the path of a block device.
	Data string `yaml:"data" json:"data"`
	// Network is bridge, nat, user, none or host.
	Network string `yaml:"network" json:"network"`
	// Log is what the instance's output passes on its way to tare: null (nothing),
	// pipe (a logger process that forwards it), file or json-file (a logger that also
	// writes it to a file).
	Log string `yaml:"log" json:"log"`
}

// Gvisor are the parts of gVisor that the host's kernel can do instead.
type Gvisor struct {
	// Netstack: gVisor's own network stack, and not the sockets of the kernel that
	// it runs on. With network: host there is none.
	Netstack bool `yaml:"netstack" json:"netstack"`
	// Overlay: with root: overlay gVisor's own one, and not the kernel's.
	Overlay bool `yaml:"overlay" json:"overlay"`
	// Directfs: the sandbox opens files by itself, and not through its gofer.
	Directfs bool `yaml:"directfs" json:"directfs"`
	// Shared: others can change /data, so gVisor does not cache its metadata.
	Shared bool `yaml:"shared" json:"shared"`
}

// Namespaces are those that a runtime can give or not.
type Namespaces struct {
	PID    bool `yaml:"pid" json:"pid"`
	Mount  bool `yaml:"mount" json:"mount"`
	IPC    bool `yaml:"ipc" json:"ipc"`
	UTS    bool `yaml:"uts" json:"uts"`
	Cgroup bool `yaml:"cgroup" json:"cgroup"`
	User   bool `yaml:"user" json:"user"`
	Time   bool `yaml:"time" json:"time"`
}

// Default is what a container of Docker has, under runc.
func Default() Options {
	return Options{
		Runtime:    "runc",
		Namespaces: Namespaces{PID: true, Mount: true, IPC: true, UTS: true, Cgroup: true},
		Limits:     true, Devices: true, Masked: true,
		Seccomp: "default", Capabilities: "default",
		Root: "overlay", Data: "bind", Network: "bridge", Log: "null",
		Gvisor: defaultGvisor,
	}
}

// defaultGvisor are the parts as gVisor has them by default.
var defaultGvisor = Gvisor{Netstack: true, Overlay: true, Directfs: true, Shared: true}

// family is the command line dialect of a runtime, by its program's name; with an
// unknown name a platform means gVisor.
func (o *Options) family() string {
	name := filepath.Base(o.Runtime)
	for _, known := range []string{"runsc", "runc", "crun", "kata", "youki"} {
		if strings.Contains(name, known) {
			return known
		}
	}
	if o.Platform != "" {
		return "runsc"
	}
	return "runc"
}

func (o *Options) gvisor() bool { return o.family() == "runsc" }

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	if o.Runtime == "" {
		return strictyaml.AtKey("runtime", "name an OCI runtime's program, such as runc, crun or /usr/local/bin/runsc")
	}
	if !o.gvisor() && o.Platform != "" {
		return strictyaml.AtKey("platform", "only gVisor has platforms, and the runtime is %s", o.Runtime)
	}
	if !o.gvisor() && o.Gvisor != defaultGvisor {
		return strictyaml.AtKey("gvisor", "only gVisor has these parts, and the runtime is %s", o.Runtime)
	}
	for _, err := range []error{
		environment.OneOf("platform", o.Platform, "", "systrap", "ptrace", "kvm"),
		environment.OneOf("root", o.Root, "overlay", "folder", "bind"),
		environment.OneOf("network", o.Network, "bridge", "nat", "user", "pasta", "none", "host"),
		environment.OneOf("log", o.Log, "null", "pipe", "file", "json-file"),
		blockdevice.ValidOption("data", o.Data, "bind", "overlay", "tmpfs"),
	} {
		if err != nil {
			return err
		}
	}
	if o.Seccomp != "default" && o.Seccomp != "unconfined" && !filepath.IsAbs(o.Seccomp) {
		return strictyaml.AtKey("seccomp", "%q is neither default nor unconfined nor the absolute path of a profile", o.Seccomp)
	}
	if _, err := CapabilitiesOf(o.Capabilities, nil); err != nil {
		return err
	}
	switch {
	case o.Data == "overlay" && o.Root != "overlay":
		return strictyaml.AtKey("data", "overlay is in the overlay of the root, and root: %s has none: use data: bind", o.Root)
	case !o.Namespaces.Mount && o.Masked:
		return strictyaml.AtKey("masked", "needs a mount namespace: with namespaces: {mount: false} set masked: false")
	case !o.Namespaces.Mount && o.Namespaces.User:
		return strictyaml.AtKey("namespaces", "user: true needs mount: true")
	}
	return nil
}
