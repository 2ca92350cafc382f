package containerd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"tare/internal/agent"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/permission"
)

// Options of the kind containerd.
type Options struct {
	// Address is the path of containerd's socket, on this machine.
	Address string `yaml:"address" json:"address"`
	// Runtime is the name of a runtime with a shim of containerd's: io.containerd.runc.v2.
	Runtime string `yaml:"runtime" json:"runtime"`
	// Binary is the OCI runtime's program that runc's shim executes; "" is runc.
	Binary string `yaml:"binary" json:"binary,omitempty"`
	// Network, Seccomp and Data are as in the kind oci.
	Network string `yaml:"network" json:"network"`
	Seccomp string `yaml:"seccomp" json:"seccomp"`
	Data    string `yaml:"data" json:"data"`
}

const runcShim = "io.containerd.runc.v2"

// Validate says what is wrong with the options. Managed checks those that the kind oci has.
func (o *Options) Validate() error {
	if !filepath.IsAbs(o.Address) {
		return strictyaml.AtKey("address", "%q is not the path of a socket on this machine, such as /run/containerd/containerd.sock", o.Address)
	}
	if oci.Shim(o.Runtime) == "" {
		return strictyaml.AtKey("runtime", "%q is not the name of a runtime of containerd: write one such as %s or io.containerd.kata.v2; the program that runc's shim executes is the option binary", o.Runtime, runcShim)
	}
	if strings.Contains(o.Runtime, "runsc") || strings.Contains(o.Binary, "runsc") {
		return strictyaml.AtKey("runtime", "gVisor's shim is not supported: use kind: gvisor, which runs runsc without an engine")
	}
	if o.Binary != "" && o.Runtime != runcShim {
		return strictyaml.AtKey("binary", "it is the program that the shim of %s executes, and the runtime is %s", runcShim, o.Runtime)
	}
	if err := environment.OneOf("network", o.Network, "bridge", "nat", "none", "host"); err != nil {
		return err
	}
	same := o.container()
	return same.Validate()
}

// family is the kind of runtime: runc, crun, kata.
func (o *Options) family() string {
	if strings.Contains(o.Runtime, "kata") {
		return "kata"
	}
	return filepath.Base(cmp.Or(o.Binary, "runc"))
}

// program is the OCI runtime's.
func (o *Options) program() string { return cmp.Or(o.Binary, o.family()) }

// container are the same options for the kind oci.
func (o *Options) container() oci.Options {
	c := oci.Default()
	c.Runtime, c.Network, c.Data = o.program(), o.Network, o.Data
	if o.Seccomp != "default" {
		c.Seccomp = o.Seccomp
	}
	return c
}

// requirements list what must hold for these options.
func (o *Options) requirements() []environment.Requirement {
	list := []environment.Requirement{
		environment.Root("root, to make containers of containerd with cgroups and networks of tare", environment.AsRoot("")),
		{What: "containerd that answers at " + o.Address, Check: o.answers},
		environment.Program("the shim of "+o.Runtime, oci.Shim(o.Runtime), installShim(o.family())),
	}
	if o.family() != "kata" {
		list = append(list, environment.Program("the OCI runtime "+o.program(), o.program(), oci.InstallRuntime(o.program())))
	}
	if o.family() == "crun" {
		list = append(list, environment.Requirement{What: "a machine without both cgroup v1 and v2, which crun refuses", Check: checkHybrid})
	}
	same := o.container()
	return append(list, oci.ManagedRequirements(&same)...)
}

func checkHybrid(context.Context) environment.Finding {
	if cgroup.Mode() == "hybrid" {
		return environment.Lacks("it has both (hybrid)", environment.Advice("leave out binary: crun, or use kind: oci, which hides v2 from crun"))
	}
	return environment.Works("")
}

func installShim(family string) environment.Fix {
	if family == "kata" {
		return environment.Advice("install Kata Containers: https://katacontainers.io")
	}
	return environment.Install("containerd")
}

// answers asks containerd for its version and its snapshotter.
func (o *Options) answers(ctx context.Context) environment.Finding {
	m := &manager{options: *o}
	version, err := m.version(ctx)
	if err != nil {
		return environment.Lacks(err.Error(), fix(o.Address, err))
	}
	if _, err := m.roots(ctx); err != nil {
		return environment.Lacks(err.Error(), environment.Advice("look at the log of containerd"))
	}
	return environment.Works(fmt.Sprintf("release %s, snapshotter %s", version, snapshotter))
}

// fix is how to make containerd answer.
func fix(address string, err error) environment.Fix {
	if errors.Is(err, syscall.EACCES) {
		return environment.AsRoot(permission.Fix(address))
	}
	if _, none := exec.LookPath("containerd"); none != nil && errors.Is(err, fs.ErrNotExist) {
		return environment.Fix{Code: environment.FixInstall, Packages: []string{"containerd"}, Service: true}
	}
	return environment.Fix{Code: environment.FixStart, Command: "systemctl start containerd", Alternative: "containerd &"}
}

func probe(address string) agent.Probe { return agent.Probe{Unix: address} }
