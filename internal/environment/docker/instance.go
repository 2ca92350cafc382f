package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/environment/support/shims"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/userns"
	"tare/internal/linux/virtnet"
	"tare/internal/usage"
)

type instance struct {
	environment.Started
	engine    *engine
	options   Options
	id        string // "" until it was created
	directory string
	volume    string                   // of a block device at /data; "" if there is none
	parent    string                   // the cgroup in which its own is created; "" if the engine decides
	inside    string                   // the container's own address, where address is the host's
	loopback  *virtnet.LoopbackAddress // its address, where it shares the host's network
	published *publishedAddress        // its address, where its ports are published
	own       *network                 // made for this instance alone
	footprint usage.Footprint
	gvisor    bool
	processes []*shims.Process // the container's first process and its shim

	stop    sync.Mutex
	stopped bool
}

func (i *instance) Footprint() usage.Footprint { return i.footprint }

// inspect finds the processes and the cgroup of the container.
func (i *instance) inspect(ctx context.Context, ownNetwork bool, l cgroup.Limits) error {
	inspected, err := i.engine.api.ContainerInspect(ctx, i.id, client.ContainerInspectOptions{})
	if err != nil {
		return i.engine.explain("inspecting the container", err)
	}
	state := inspected.Container.State
	if state == nil || state.Pid == 0 {
		return fmt.Errorf("the container ended right after its start: %s", ending(state))
	}
	first, err := shims.Watch(state.Pid)
	if err != nil {
		return err
	}
	i.processes = append(i.processes, first)
	group, err := cgroup.Of(first.PID)
	if err != nil {
		return err
	}
	i.Findings = append(i.Findings, group.Cautions(l)...)
	if ownNetwork {
		i.inside = addressOf(inspected.Container)
	}
	i.IP = cmp.Or(i.IP, i.inside)
	if i.inside != "" {
		i.footprint.NetworkPID = first.PID
	}
	if i.published != nil {
		i.footprint.Processes = append(i.footprint.Processes, proxies(i.published.at.String())...)
	}
	// The parent is containerd's shim or Podman's conmon; a daemon that runs
	// containers as its own children has none.
	if shim := shims.Around(first); shim != nil {
		i.processes = append(i.processes, shim)
		i.footprint.Processes = append(i.footprint.Processes, usage.Process{PID: shim.PID, Role: "shim"})
	}
	if around, err := cgroup.Of(first.Parent()); group.Path() != "/" && (err != nil || !group.Same(around)) {
		i.footprint.Cgroups, i.footprint.Early = []string{group.Path()}, shims.Overhead(i.id)
		// Without the engine: a request would wake its daemons, and it would record a
		// paused container.
		i.More.Freezer = group.Freezer(false)
		if i.gvisor { // the platform is an argument of the runtime in the daemon's configuration
			i.More.Freezer = environment.Unfreezable{Why: fmt.Errorf("freezing its container: %w; use engine: direct", oci.ErrSystrap)}
		}
		return nil
	}
	// A rootless engine on cgroup v1 makes no group: other processes are in this one.
	i.footprint.Processes = append(i.footprint.Processes, usage.Process{PID: first.PID, Role: "container"})
	i.More.Freezer = environment.Unfreezable{Why: fmt.Errorf("freezing its container: %w: the engine made no cgroup for it", errors.ErrUnsupported)}
	i.Findings = append(i.Findings, "the engine made no cgroup for the container: its usage is counted by its processes, and no limit applies")
	return nil
}

func ending(s *container.State) string {
	switch {
	case s == nil:
		return "the engine has no state of it"
	case s.OOMKilled:
		return "its memory limit was too small (out of memory)"
	case s.Error != "":
		return s.Error
	}
	return fmt.Sprintf("exit status %d", s.ExitCode)
}

// Stop shuts the agent down, waits until the container and its processes have exited,
// and kills what does not exit in time.
func (i *instance) Stop(ctx context.Context) error {
	i.stop.Lock()
	defer i.stop.Unlock()
	if i.stopped {
		return nil
	}
	bound, cancel := context.WithTimeout(ctx, environment.ContainerStop.Terminate)
	defer cancel()
	thawed := i.More.Freezer.Thaw(bound)
	if i.Client.Err() == nil {
		_ = i.Client.Shutdown(bound) // what is left is killed below
	}
	i.Client.Close()
	if i.processes[0].Ended(bound, environment.ContainerStop.Terminate) {
		i.NoteExit(time.Now())
	}
	if err := i.remove(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("stopping container %.12s: %w", i.id, errors.Join(thawed, err))
	}
	i.stopped = true
	return nil
}

// remove removes all that Start made, whatever state the container is in.
func (i *instance) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, environment.ContainerStop.Kill)
	defer cancel()
	var problems []error
	if i.id != "" {
		problems = append(problems, i.engine.removeContainer(ctx, i.id))
		if len(i.processes) > 0 {
			err := errors.Join(shims.EndAll(ctx, append(i.processes, shims.Serving(i.id)...)), shims.EndOverhead(ctx, i.id))
			if err == nil {
				i.NoteExit(time.Now())
			}
			problems = append(problems, err)
		} else {
			// The processes of a container that failed to start are not known.
			problems = append(problems, endHelpers(ctx, i.id, i.parent))
		}
	}
	if i.volume != "" {
		if _, err := i.engine.api.VolumeRemove(ctx, i.volume, client.VolumeRemoveOptions{}); err != nil && !notFound(err) {
			problems = append(problems, i.engine.explain("removing volume "+i.volume, err))
		}
	}
	if i.loopback != nil {
		problems = append(problems, i.loopback.Close())
	}
	if i.published != nil {
		problems = append(problems, i.published.Close())
	}
	if i.own != nil {
		problems = append(problems, i.own.Close(ctx))
	}
	if i.directory != "" {
		problems = append(problems, userns.RemoveAll(i.directory))
	}
	return errors.Join(problems...)
}

// removeContainer returns when the container is gone. While an engine stops or removes
// it already, the request fails with an error that depends on the engine, so it is
// repeated.
func (e *engine) removeContainer(ctx context.Context, id string) error {
	var err error
	for range 5 {
		_, err = e.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil || notFound(err) {
			return nil
		}
		if client.IsErrConnectionFailed(err) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			break
		}
		bound, cancel := context.WithTimeout(ctx, time.Second)
		gone := e.api.ContainerWait(bound, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
		select {
		case <-gone.Result:
		case <-gone.Error: //nolint:errcheck // the wait failed: the container is looked at instead
		}
		cancel()
	}
	return e.explain("removing container "+id, err)
}

// endHelpers ends the processes that serve a container which is gone, and removes the
// cgroups that a runtime made for it: runsc leaves both when a start fails. parent is the
// cgroup in which the container's was to be created, "" if the engine decided.
func endHelpers(ctx context.Context, id, parent string) error {
	err := errors.Join(shims.EndAll(ctx, shims.Serving(id)), shims.EndOverhead(ctx, id))
	groups := []string{"/docker/" + id, "/libpod_parent/libpod-" + id}
	if parent != "" {
		groups = append(groups, parent+"/"+id)
	}
	for _, path := range groups {
		if group, e := cgroup.At(path); e == nil && group.Exists() {
			err = errors.Join(err, group.Kill(ctx), group.Remove())
		}
	}
	return err
}

// versionTimeout is for requesting the versions of an engine.
const versionTimeout = 5 * time.Second

// facts of the container that only the engine has. Versions are requested once.
func (c *containers) facts() map[string]string {
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	facts := map[string]string{
		"log.channel": "the engine's attach", "log.driver": c.options.Log,
		"provider[engine]": strings.ToLower(strings.Fields(c.engine.name)[0]),
	}
	info, err := c.engine.info(ctx) // known since Prepare
	if err != nil {
		return facts
	}
	facts["provider[storage]"], facts["provider[cgroup driver]"] = info.Driver, info.CgroupDriver
	if facts["provider[runtime]"] = c.options.Runtime; c.options.Runtime == "" {
		facts["provider[runtime]"] = info.DefaultRuntime
	}
	for program, version := range c.versions() {
		facts["provider["+program+" version]"] = version
	}
	return facts
}
