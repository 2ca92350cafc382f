package oci

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/environment"
	"tare/internal/linux/beneath"
	"tare/internal/linux/cgroup"
	"tare/internal/usage"
)

// instance is a started container. A field that Start has not set yet is nil.
type instance struct {
	environment.Started
	environ   *environ
	id        string // as the runtime knows it
	directory string // the bundle
	group     *cgroup.Group
	guest     *cgroup.Group // of a container in a guest, in place of group; else nil
	pausing   sync.Mutex
	paused    bool // by runsc
	network   *attachment
	runtime   *process   // or the shim in its place: it exits with the instance; nil with a manager
	container Container  // of a manager; nil without one
	helpers   []*process // a logger, a user-mode network
	pid       int        // of the first process inside, in the host's PID namespace
	cleanups  []func() error

	stop    sync.Mutex
	stopped bool
}

// Footprint is the cgroup, the processes outside of it (runtime or shim, logger,
// user-mode network), and where the network's bytes are counted.
func (i *instance) Footprint() usage.Footprint {
	footprint := i.network.traffic
	footprint.Cgroups = []string{cmp.Or(i.guest, i.group).Path()}
	for _, h := range i.helpers {
		footprint.Processes = append(footprint.Processes, usage.Process{PID: h.Pid, Role: h.role})
	}
	if i.environ.options.gvisor() {
		footprint.Roles = GvisorRoles
	}
	if i.container != nil {
		footprint.Processes, footprint.Early = append(footprint.Processes, i.container.Helpers()...), i.container.Early()
	} else if !i.environ.options.gvisor() {
		footprint.Processes = append(footprint.Processes, usage.Process{PID: i.runtime.Pid, Role: i.runtime.role})
	}
	if i.network.inside {
		footprint.NetworkPID = i.pid
	}
	return footprint
}

// pauser has runsc pause a sandbox that would not survive the freeze of its cgroup.
type pauser struct{ *instance }

func (p pauser) Freeze(ctx context.Context) error { return p.pause(ctx, true) }
func (p pauser) Thaw(ctx context.Context) error   { return p.pause(ctx, false) }

// ErrSystrap refuses to freeze a sandbox. A freeze interrupts system calls as a signal
// does. The threads of systrap wait in a seccomp notification, which then is void: the
// sandbox takes the answer that it cannot send for a process that died, and exits.
var ErrSystrap = fmt.Errorf("%w: gVisor's platform systrap does not survive a freeze (systrap corrupted memory: subprocess died)", errors.ErrUnsupported)

// pauses reports whether the instance is frozen by runsc, because of ErrSystrap.
func (i *instance) pauses() bool {
	o := &i.environ.options
	return o.gvisor() && o.Platform != "ptrace"
}

// pauseTimeout bounds a command of the runtime.
const pauseTimeout = 10 * time.Second

// pause makes runsc stop all tasks in the sandbox, or lets them go on.
func (i *instance) pause(ctx context.Context, paused bool) error {
	i.pausing.Lock()
	defer i.pausing.Unlock()
	if i.paused == paused {
		return nil
	}
	command := "resume"
	if paused {
		command = "pause"
	}
	bound, cancel := context.WithTimeout(ctx, pauseTimeout)
	defer cancel()
	path, err := filepath.Abs(i.environ.runtime.path)
	if err != nil {
		return err
	}
	// runsc takes the path of its state for a pattern of file names, so that of the
	// directory is not in it.
	c := exec.CommandContext(bound, path, "--root=.", command, i.id)
	c.Dir = i.directory
	c.WaitDelay = time.Second
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("runsc %s %s: %w: %s", command, i.id, err, bytes.TrimSpace(output))
	}
	i.paused = paused
	return nil
}

// Stop shuts the agent down, which ends the instance and the runtime, and kills what
// does not exit in time.
func (i *instance) Stop(ctx context.Context) error {
	i.stop.Lock()
	defer i.stop.Unlock()
	if i.stopped {
		return nil
	}
	bound, cancel := context.WithTimeout(ctx, environment.ContainerStop.Terminate)
	defer cancel()
	_ = i.More.Freezer.Thaw(bound) // the kill below ends it in any state
	if i.Client.Err() == nil {
		_ = i.Client.Shutdown(bound) // what is left is killed below
	}
	i.Client.Close()
	select {
	case <-i.ended():
		i.NoteExit(time.Now())
	case <-bound.Done():
	}
	if err := i.remove(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("stopping %s in %s: %w", i.id, i.directory, err)
	}
	i.stopped = true
	return nil
}

// adoptGuest takes the cgroup of the container's guest, if the runtime made it beside the
// container's. Another is somebody else's, such as the engine's, and is not counted or frozen.
func (i *instance) adoptGuest() error {
	i.More.LimitedInside = true
	guest, err := cgroup.Of(i.container.First().PID)
	if err != nil {
		return err
	}
	if filepath.Dir(guest.Path()) != filepath.Dir(i.group.Path()) {
		i.Findings = append(i.Findings, "its guest is in the cgroup "+guest.Path()+", which tare does not count or freeze")
		return nil
	}
	i.guest, i.More.Freezer = guest, guest.Freezer(false)
	return nil
}

// ended is closed when the runtime, or the first process of a manager's container, has exited.
func (i *instance) ended() <-chan struct{} {
	if i.container != nil {
		return i.container.Ended()
	}
	return i.runtime.ended
}

// remove removes all that Start made, whatever state the instance is in. Mounts end
// with the last process of their namespace.
func (i *instance) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, environment.ContainerStop.Kill)
	defer cancel()
	var problems []error
	if i.container != nil {
		err := i.container.Remove(ctx)
		if err == nil {
			i.NoteExit(time.Now())
		}
		problems = append(problems, err)
	}
	if i.guest != nil { // the runtime leaves it
		problems = append(problems, i.guest.Kill(ctx), i.guest.Remove())
	}
	if i.runtime != nil {
		i.forceRuntime(ctx)
		i.runtime.Kill() // it may not have joined the group yet
	}
	// A helper that can exit in order does so before the group is killed.
	for _, h := range i.helpers {
		if h.requestExit != nil {
			problems = append(problems, h.end(ctx, false))
		}
	}
	if i.group != nil {
		problems = append(problems, i.group.Kill(ctx))
	}
	if i.runtime != nil {
		err := i.runtime.end(ctx, true)
		if err == nil {
			i.NoteExit(time.Now())
		}
		problems = append(problems, err)
	}
	for _, h := range i.helpers {
		problems = append(problems, h.end(ctx, true))
	}
	if i.group != nil {
		// Again: the runtime may have added its child before it died.
		problems = append(problems, i.group.Kill(ctx), i.group.Remove())
	}
	for _, cleanUp := range i.cleanups {
		problems = append(problems, cleanUp())
	}
	if i.directory != "" {
		problems = append(problems, beneath.RemoveAll(i.directory))
	}
	return errors.Join(problems...)
}

// forceRuntime runs the delete command of a runtime that has not exited: it may have
// processes outside of the group. Its result is ignored, since the group is killed
// next.
func (i *instance) forceRuntime(ctx context.Context) {
	select {
	case <-i.runtime.ended:
		return
	default:
	}
	args := i.environ.runtime.delete(i.directory, i.id)
	bound, cancel := context.WithTimeout(ctx, environment.ContainerStop.Terminate)
	defer cancel()
	c := exec.CommandContext(bound, args[0], args[1:]...)
	c.WaitDelay = time.Second
	_ = c.Run()
}

// firstProcess is what the manager says, or the pid file of the runtime; 0 if there is none.
func (i *instance) firstProcess() int {
	if i.container != nil {
		return i.container.First().PID
	}
	text, err := os.ReadFile(i.directory + "/pid")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// facts of a start that only the command lines know.
func (o *Options) facts() map[string]string {
	facts := map[string]string{
		"log.channel": "pipe", "log.driver": "none",
		"provider[runtime]": filepath.Base(o.Runtime),
		"provider[devices]": map[bool]string{true: "a few", false: "all"}[o.Devices],
	}
	if o.Log != "null" {
		facts["log.channel"] = "pipe, a process of the log, pipe"
		if o.Log != "pipe" {
			facts["log.driver"] = o.Log
		}
	}
	if o.gvisor() {
		facts["provider[platform]"] = o.Platform
		if o.Platform == "" {
			facts["provider[platform]"] = "systrap"
		}
		facts["provider[gvisor]"] = fmt.Sprintf("netstack %t, overlay %t, directfs %t, shared %t",
			o.Gvisor.Netstack && o.Network != "host", o.Gvisor.Overlay, o.Gvisor.Directfs, o.Gvisor.Shared)
	}
	return facts
}
