package docker

import (
	"context"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/linux/fsinfo"
	"tare/internal/usage"
)

// makeVolume makes the volume of a block device, which the engine mounts, wherever its
// mounts are. It is made before the container: Podman ignores the options of a volume that
// a container's request describes, and takes a directory instead.
func (e *engine) makeVolume(ctx context.Context, o *cleanup.Owner, device string) (name string, err error) {
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), environment.ContainerStop.Kill)
	defer cancel()
	made, err := e.api.VolumeCreate(whole, client.VolumeCreateOptions{Driver: "local", Labels: o.Labels(),
		DriverOpts: map[string]string{"type": "ext4", "device": device, "o": "nosuid,nodev"}})
	return made.Volume.Name, e.explain("making a volume of "+device, err)
}

// bind mounts a path of tare's own. Where SELinux confines containers, "z" asks the engine to
// label the path so that all of them may open it. Only this form of a mount can ask for that,
// and it cannot write a path with a colon.
func bind(host *container.HostConfig, from, to, mode string) {
	if strings.Contains(from, ":") {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: from, Target: to, ReadOnly: mode == "ro"})
		return
	}
	host.Binds = append(host.Binds, from+":"+to+":"+mode+",z")
}

// mount puts in place what is mounted; at /data, directory is tare's own, and made the volume of a
// block device.
func (o *Options) mount(r environment.Request, directory, made string, config *container.Config, host *container.HostConfig) {
	volume := mount.Mount{Type: mount.TypeVolume, Target: "/data",
		VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: r.Owner.Labels()}}
	switch o.Data {
	case "bind":
		bind(host, directory, "/data", "rw")
	case "volume":
		host.Mounts = append(host.Mounts, volume)
	case "overlay":
		config.WorkingDir = "/data" // which the engine makes
	case "tmpfs":
		host.Tmpfs = map[string]string{"/data": "exec,mode=1777"}
	default:
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Source: made, Target: "/data"})
	}
	for _, m := range r.Mounts {
		if m.Memory {
			memory := mount.Mount{Type: mount.TypeTmpfs, Target: m.To, TmpfsOptions: &mount.TmpfsOptions{SizeBytes: int64(m.Size), Mode: 0o1777}}
			host.Mounts = append(host.Mounts, memory)
			continue
		}
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: m.From, Target: m.To, ReadOnly: m.ReadOnly})
	}
}

// paths are what the options come to with this engine.
func (c *containers) paths(ctx context.Context, i *instance, directory string) environment.Paths {
	p := environment.Paths{Network: c.packetPath(i)}
	driver, store := "overlay", ""
	if info, err := c.engine.info(ctx); err == nil { // known since Prepare
		driver, store = info.Driver, info.DockerRootDir
	}
	p.Root, p.RootOn = driver, fsinfo.Of(store)
	p.Data, p.DataOn = "bind mount of a directory", fsinfo.Of(directory)
	switch c.options.Data {
	case "bind":
	case "volume":
		p.Data, p.DataOn = "volume of the engine", fsinfo.Of(store)
	case "overlay":
		p.Data, p.DataOn = driver, p.RootOn
	case "tmpfs":
		p.Data, p.DataOn = "tmpfs", environment.Memory
	default:
		p.Data, p.DataOn = "ext4 on the block device, volume of the engine", fsinfo.Device(c.options.Data)
	}
	if c.gvisor {
		// gVisor has a root overlay of its own above the engine's, and reaches
		// files through a process or descriptors outside of the sandbox.
		p.Root = "gVisor's overlay above " + p.Root
		if c.options.Data != "tmpfs" && c.options.Data != "overlay" {
			p.Data = "gVisor's gofer, " + p.Data
		}
		if c.options.Data == "overlay" {
			p.Data = p.Root
		}
	}
	return p
}

// packetPath is what a packet between the instance and the host passes.
func (c *containers) packetPath(i *instance) string {
	path := map[string]string{
		"host":    "the host's network stack",
		"none":    "none: only a loopback device",
		"bridge":  "veth pair, the engine's bridge",
		"nat":     "veth pair, a separate bridge of the engine, NAT beyond the host",
		"publish": "published ports: the host's address, DNAT or the engine's proxy, the engine's bridge, veth pair",
	}[c.options.Network]
	if c.options.onLoopback() {
		path = "published ports: the host's loopback, docker-proxy, the engine's bridge, veth pair"
		if !slices.ContainsFunc(i.footprint.Processes, func(p usage.Process) bool { return p.Role == proxyRole }) { // the daemon has none
			path = "published ports: the host's loopback, DNAT, the engine's bridge, veth pair"
		}
	}
	if c.options.Network == "none" && i.inside != "" {
		path = "veth pair, an internal bridge of the engine"
	}
	if c.gvisor && i.inside != "" {
		path = "gVisor's network stack, " + path
	}
	return path
}
