package docker

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/console"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/fsinfo"
)

// agentInside is the path of the agent's program inside, read-only.
const agentInside = "/.tare/agent"

// containers is the environment of an engine's containers.
type containers struct {
	engine  *engine
	options Options
	gvisor  bool
	agent   func(home string) (string, error)
	// versions of the engine and the runtime, requested once.
	versions func() map[string]string
}

func newContainers(b brand, o Options) (*containers, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	e, err := b.at(o.Socket)
	if err != nil {
		return nil, err
	}
	versions := sync.OnceValue(func() map[string]string {
		ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
		defer cancel()
		return e.versions(ctx, o.Runtime)
	})
	if o.onLoopback() && b.kind != theDocker.kind {
		return nil, strictyaml.AtKey("network", "publish-loopback is Docker's, whose proxy serves the loopback; %s translates there as elsewhere: use network: publish", b.name)
	}
	return &containers{engine: e, options: o, gvisor: isRunsc(o.Runtime), agent: cleanup.OncePerKey(theAgent), versions: versions}, nil
}

func (c *containers) Label() string { return "" }

func (c *containers) Versions(ctx context.Context) map[string]string {
	return c.engine.versions(ctx, c.options.Runtime)
}

func (c *containers) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if _, err := c.engine.info(ctx); err != nil {
		return err
	}
	return c.engine.load(ctx, img, progress)
}

// theAgent writes the agent's program below a home.
func theAgent(home string) (string, error) { return agent.WriteBinary(filepath.Join(home, "agent")) }

// Start makes three requests to the engine: create, attach, start. Everything else is
// requested after the agent is ready, so that it does not count as start-up time.
func (c *containers) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	began := time.Now()
	program, err := c.agent(r.Owner.Home())
	if err != nil {
		return nil, err
	}
	tail := console.New(r.Console)
	i := &instance{engine: c.engine, options: c.options, gvisor: c.gvisor}
	defer func() {
		if err != nil {
			err = fmt.Errorf("starting %s: %w%s", r.Name, err, tail.LastLines())
			if left := i.remove(context.WithoutCancel(ctx)); left != nil {
				err = fmt.Errorf("%w\nand cleaning up after it: %w", err, left)
			}
		}
	}()
	if i.directory, err = r.Owner.Directory(r.Name); err != nil {
		return nil, err
	}
	if err := c.engine.admit(r.Owner.Home(), i.directory, filepath.Dir(program)); err != nil {
		return nil, err
	}
	parent, err := c.parent(r)
	if err != nil {
		return nil, err
	}
	i.parent = parent
	limits, err := c.limits(ctx, r, i.directory)
	if err != nil {
		return nil, err
	}
	if err := c.engine.remember(i.directory); err != nil {
		return nil, err
	}
	network, err := c.join(ctx, i, r)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(i.directory, "data")
	if err := c.makeData(ctx, data); err != nil {
		return nil, err
	}
	if blockdevice.Named(c.options.Data) {
		if i.volume, err = c.engine.makeVolume(ctx, r.Owner, c.options.Data); err != nil {
			return nil, err
		}
	}
	prepared := time.Now()
	warnings, err := c.create(ctx, i, r, c.describe(i, r, limits, program, data, parent, network))
	if err != nil {
		return nil, err
	}
	started, ready, err := c.startAgent(ctx, i, tail)
	if err != nil {
		return nil, c.explainIO(r.Limits, err)
	}
	if blockdevice.Named(c.options.Data) { // formatting it does not count as start-up time
		i.Timeline, began = []environment.Phase{{Name: environment.PreparePhase, Duration: prepared.Sub(began)}}, prepared
	}
	i.Timeline = append(i.Timeline,
		environment.Phase{Name: "engine", Duration: started.Sub(began)},
		environment.Phase{Name: "agent", Duration: ready.Sub(started)})
	i.Findings = append(warnings, c.notes(r.Limits, i.Client.Hello())...)
	if c.gvisor {
		i.Findings = append(i.Findings, oci.LinuxPorts(ctx, i.Client)...)
		i.footprint.Roles = oci.GvisorRoles
	}
	err = i.inspect(ctx, i.IP == "" || i.published != nil, limits)
	if err == nil {
		err = i.shorten(ctx)
	}
	if err != nil {
		i.Client.Close()
		return nil, err
	}
	if r.Network == nil && c.apart(ctx) {
		i.IP = "" // the host's programs do not reach it
	}
	i.Route, i.More.Facts = c.paths(ctx, i, data), c.facts()
	i.More.LimitedInside = c.kata()
	if i.published != nil {
		i.More.Listen = i.inside
	}
	return i, nil
}

// create creates the container, and returns the engine's warnings.
func (c *containers) create(ctx context.Context, i *instance, r environment.Request, options client.ContainerCreateOptions) ([]string, error) {
	// Not canceled with the context: the daemon would still create the container, and
	// its id would be unknown.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), environment.ContainerStop.Kill)
	defer cancel()
	created, err := c.engine.api.ContainerCreate(whole, options)
	if err != nil {
		if notFound(err) {
			err = fmt.Errorf("%w (the image %s was not prepared, or was removed meanwhile)", err, r.Image.Name)
		}
		return nil, c.engine.explain("creating the container", err)
	}
	i.id = created.ID
	return created.Warnings, nil
}

// startAgent attaches to the container, starts it and connects to its agent. It
// returns when the engine reported the start, and when the agent was ready.
func (c *containers) startAgent(ctx context.Context, i *instance, stderr io.Writer) (started, ready time.Time, err error) {
	attached, err := c.engine.attach(ctx, i.id)
	if err != nil {
		return started, ready, err
	}
	// The agent can be ready before the engine reports the start, so both are waited
	// for at the same time.
	type connection struct {
		agent *agent.Client
		at    time.Time
		err   error
	}
	connected := make(chan connection, 1)
	crash.Go(func() {
		client, err := agent.Connect(ctx, newChannel(attached, stderr))
		connected <- connection{client, time.Now(), err}
	})
	if _, err := c.engine.api.ContainerStart(ctx, i.id, client.ContainerStartOptions{}); err != nil {
		attached.Close()
		if made := <-connected; made.agent != nil {
			made.agent.Close()
		}
		return started, ready, c.engine.explain("starting the container", err)
	}
	started = time.Now()
	made := <-connected
	if made.err != nil {
		return started, ready, made.err
	}
	i.Client = made.agent
	if started.After(made.at) {
		started = made.at
	}
	return started, made.at, nil
}

// makeData makes what is behind /data before the engine comes to it.
func (c *containers) makeData(ctx context.Context, directory string) error {
	if err := makeData(directory); err != nil || !blockdevice.Named(c.options.Data) {
		return err
	}
	return blockdevice.Fresh(ctx, c.options.Data, directory)
}

// makeData makes the directory for /data. It is writable by all, since servers run as
// other users.
func makeData(directory string) error {
	err := os.Mkdir(directory, 0o755)
	if err == nil {
		err = os.Chmod(directory, 0o777)
	}
	if err != nil {
		return fmt.Errorf("making the directory for /data: %w", err)
	}
	return nil
}

// parent makes the cgroup in which containers are created: the owner's, as for native
// instances and guests. The kernel divides CPU time between sibling groups, so an
// instance below another parent would get another share of a busy machine. An engine
// with the systemd cgroup driver takes no path, and Podman leaves a group behind.
func (c *containers) parent(r environment.Request) (string, error) {
	info, err := c.engine.info(context.Background()) // known since Prepare
	if err != nil || info.CgroupDriver != "cgroupfs" || !c.engine.takesParent {
		return "", nil
	}
	parent := path.Dir(r.Owner.Cgroup(r.Name))
	_, err = cgroup.Create(parent, cgroup.Limits{})
	return parent, err
}

// limits are those of the container's cgroup; the disk is the one that /data is on.
func (c *containers) limits(ctx context.Context, r environment.Request, directory string) (cgroup.Limits, error) {
	if c.gvisor && c.options.Data == "overlay" && !r.Limits.IO.None() {
		return cgroup.Limits{}, oci.ErrOverlayIO
	}
	if c.kata() {
		if err := r.Limits.PassedByKata(); err != nil {
			return cgroup.Limits{}, err
		}
	}
	switch c.options.Data {
	case "bind":
		return r.Limits.Group(directory)
	case "tmpfs":
		return r.Limits.Group(environment.Memory)
	}
	info, err := c.engine.info(ctx)
	if err != nil {
		return cgroup.Limits{}, err
	}
	return r.Limits.Group(info.DockerRootDir)
}

func throttle(to *container.Resources, t cgroup.Throttle) {
	rate := func(n int64) []*blkiodev.ThrottleDevice {
		if n == 0 {
			return nil
		}
		return []*blkiodev.ThrottleDevice{{Path: fsinfo.Node(t.Device), Rate: uint64(n)}}
	}
	to.BlkioDeviceReadBps, to.BlkioDeviceWriteBps = rate(int64(t.Read)), rate(int64(t.Write))
	to.BlkioDeviceReadIOps, to.BlkioDeviceWriteIOps = rate(int64(t.ReadOps)), rate(int64(t.WriteOps))
}

func (c *containers) describe(i *instance, r environment.Request, limits cgroup.Limits, program, data, parent string, network container.NetworkMode) client.ContainerCreateOptions {
	config := &container.Config{
		Image:        r.Image.EngineName(),
		Entrypoint:   []string{agentInside, "stdio", "--open=/data"},
		User:         "0",
		Labels:       r.Owner.Labels(),
		AttachStdin:  true,
		AttachStdout: true,
		AttachStderr: true,
		OpenStdin:    true,
		StdinOnce:    true, // the container ends when tare does
		Healthcheck:  &container.HealthConfig{Test: []string{"NONE"}},
	}
	host := &container.HostConfig{
		AutoRemove:  true,
		Runtime:     c.options.Runtime,
		NetworkMode: network,
		LogConfig:   container.LogConfig{Type: c.options.Log},
		Resources: container.Resources{
			CgroupParent: parent,
			NanoCPUs:     int64(math.Round(r.Limits.CPUs * 1e9)),
			Memory:       int64(r.Limits.Memory),
			MemorySwap:   int64(r.Limits.Memory),
			CpusetCpus:   cgroup.FormatCores(r.Limits.Cores),
		},
	}
	if r.Limits.PIDs > 0 {
		pids := int64(r.Limits.PIDs)
		host.PidsLimit = &pids
	}
	throttle(&host.Resources, limits.IO)
	if c.options.Seccomp == "unconfined" {
		host.SecurityOpt = []string{"seccomp=unconfined"}
	}
	if i.published != nil {
		c.options.publish(i.published.at, config, host)
	}
	bind(host, program, agentInside, "ro")
	c.options.mount(r, data, i.volume, config, host)
	return client.ContainerCreateOptions{
		Name:       containerName(r.Owner.ID(), r.Name),
		Config:     config,
		HostConfig: host,
	}
}

// explainIO says what to do where runsc gives systemd limits of I/O as text, which systemd
// refuses (google/gvisor, runsc/cgroup/cgroup_v2.go, addIOProps).
func (c *containers) explainIO(l environment.Limits, err error) error {
	if !c.gvisor || l.IO.None() || !strings.Contains(err.Error(), "Failed to set unit properties") {
		return err
	}
	return fmt.Errorf("limits: io: runsc cannot limit I/O where the %s has cgroups of systemd: use engine: direct, or start the daemon with --exec-opt native.cgroupdriver=cgroupfs: %w", c.engine.name, err)
}

func containerName(owner, instance string) string { return "tare-" + owner + "-" + instance }

// kata says whether the runtime is Kata Containers, whose shims have its name.
func (c *containers) kata() bool { return strings.Contains(c.options.Runtime, "kata") }

// notes about this start, from the options and the agent's Hello.
func (c *containers) notes(l environment.Limits, h agent.Hello) []string {
	notes := coresNote(l, h)
	if c.kata() && l.CPUs > 0 {
		notes = append(notes, "Kata Containers limits the CPU time of the container in its guest: its VMM and virtiofsd have no limit on the host")
	}
	if c.gvisor {
		notes = append(notes, oci.GvisorNotes...)
	}
	if c.options.Log != "none" {
		notes = append(notes, fmt.Sprintf("the output of the workloads passes the log driver %s, in the agent's framing", c.options.Log))
	}
	return notes
}

func coresNote(l environment.Limits, h agent.Hello) []string {
	if n := len(l.Cores); n > 0 && h.CPUs != n {
		return []string{fmt.Sprintf("the instance sees %d CPUs, but may use only %d cores (%s)", h.CPUs, n, cgroup.FormatCores(l.Cores))}
	}
	return nil
}
