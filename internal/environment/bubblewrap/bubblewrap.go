// Package bubblewrap runs an image in namespaces made by bwrap, the sandbox of
// Flatpak: without an engine, a daemon or an OCI runtime. It is the example in
// docs/contributing/adding-an-environment.md.
//
// It must not know workloads or studies.
package bubblewrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/support/childprocess"
	"tare/internal/environment/support/rootfs"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/beneath"
	"tare/internal/linux/fsinfo"
	"tare/internal/linux/virtnet"
)

// Options of the kind "bubblewrap".
type Options struct {
	// Network is host, or none: a network namespace with only a loopback.
	Network string `yaml:"network" json:"network"`
}

// Validate checks the options. Each error has its key, so that tare can show its position
// in the study.
func (o *Options) Validate() error {
	return environment.OneOf("network", o.Network, "host", "none")
}

func init() {
	environment.Register(environment.Registration{
		Kind:    "bubblewrap",
		About:   "namespaces made by bwrap, without an engine",
		Options: func() any { return &Options{Network: "host"} },
		Requires: func(any) []environment.Requirement {
			bwrap := environment.Program("the program bwrap", "bwrap", environment.Install("bubblewrap"))
			return append([]environment.Requirement{bwrap}, childprocess.Requires()...)
		},
		New:          func(o any) (environment.Environment, error) { return &bubblewrap{*o.(*Options)}, nil },
		Capabilities: func(any) environment.Capabilities { return environment.Capabilities{Mounts: true} },
	})
}

type bubblewrap struct{ options Options }

// Prepare unpacks the image.
func (b *bubblewrap) Prepare(ctx context.Context, img *image.Image, _ func(string)) error {
	_, err := img.Directory(ctx)
	return err
}

// Label is empty: its results need no caution.
func (b *bubblewrap) Label() string { return "" }

// Versions returns the version of bwrap.
func (b *bubblewrap) Versions(ctx context.Context) map[string]string {
	stdout, err := exec.CommandContext(ctx, "bwrap", "--version").Output()
	if err != nil {
		return nil
	}
	return map[string]string{"bwrap": strings.TrimPrefix(strings.TrimSpace(string(stdout)), "bubblewrap ")}
}

// NewNetwork makes nothing: instances share the host's network, and each one that joins
// gets its own loopback address.
func (b *bubblewrap) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	if b.options.Network == "none" {
		return nil, fmt.Errorf("instances with network: none cannot reach each other; use network: host")
	}
	return virtnet.Loopback{}, nil
}

// instance is the child process that bwrap isolates.
type instance struct{ *childprocess.Instance }

// Start makes a root and runs the agent in it with bwrap.
func (b *bubblewrap) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	made, err := childprocess.New(r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.Stop(context.WithoutCancel(ctx)))
		}
	}()
	i := &instance{made}
	arguments, err := i.root(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("making the root of %s: %w", r.Name, err)
	}
	network, err := i.wire(b.options, r)
	if err != nil {
		return nil, err
	}
	joins, err := i.Limit(i.Directory())
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("bwrap") // the host's, whatever PATH the image has
	if err != nil {
		return nil, err
	}
	arguments = append(append(arguments, network...),
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--", "/tare-agent", "stdio", "--open", "/data")
	if err := i.Execute(ctx, childprocess.InCgroup(joins, program, arguments...), nil); err != nil {
		return nil, err
	}
	return i, nil
}

// root makes a fresh root with /data and returns the arguments of bwrap for it.
func (i *instance) root(ctx context.Context, r environment.Request) ([]string, error) {
	source, err := r.Image.Directory(ctx)
	if err != nil {
		return nil, err
	}
	program, err := agent.WriteBinary(filepath.Join(r.Owner.Home(), "agent"))
	if err != nil {
		return nil, err
	}
	directory, data := filepath.Join(i.Directory(), "root"), filepath.Join(i.Directory(), "data")
	for _, made := range []string{directory, data} {
		if err := os.Mkdir(made, 0o755); err != nil {
			return nil, err
		}
	}
	binds, err := i.FreshRoot(source, directory)
	if err != nil {
		return nil, err
	}
	// bwrap follows a link of the image at a mount point, to the host's root too.
	for _, point := range []string{"proc", "dev", "sys", "data", "tare-agent"} {
		if err := beneath.MountPoint(directory, point, point != "tare-agent"); err != nil {
			return nil, err
		}
	}
	for _, m := range r.Mounts {
		if err := rootfs.MountPoint(source, directory, m.From, m.To); err != nil {
			return nil, err
		}
	}
	i.Route.Root, i.Route.RootOn = "directory, the image's programs mounted from the image", fsinfo.Of(directory)
	i.Route.Data, i.Route.DataOn = "bind mount of a directory", fsinfo.Of(data)
	arguments := []string{"--bind", directory, "/"}
	for _, bind := range binds { // SOURCE:TARGET:ro
		fields := strings.Split(bind, ":")
		arguments = append(arguments, "--ro-bind", fields[0], fields[1])
	}
	arguments = append(arguments, "--proc", "/proc", "--dev", "/dev", "--ro-bind", "/sys", "/sys",
		"--bind", data, "/data", "--ro-bind", program, "/tare-agent")
	for _, m := range r.Mounts {
		how := "--bind"
		if m.ReadOnly {
			how = "--ro-bind"
		}
		arguments = append(arguments, how, m.From, m.To)
	}
	return arguments, nil
}

// wire sets the address of the instance and returns the arguments of bwrap for its
// network.
func (i *instance) wire(o Options, r environment.Request) ([]string, error) {
	if o.Network == "none" {
		i.Route.Network = "none: only a loopback device"
		return []string{"--unshare-net"}, nil
	}
	i.IP, i.Route.Network = virtnet.HostAddress, "the host's network stack"
	if r.Network != nil {
		loopback, err := virtnet.ClaimLoopback(r.Network)
		if err != nil {
			return nil, err
		}
		i.Undo(loopback.Close)
		i.IP = loopback.Address.String()
	}
	return nil, nil
}
