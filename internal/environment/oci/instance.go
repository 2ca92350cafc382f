package oci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/sample"
)

// instance is one that runs. What Start has not come to yet is nil.
type instance struct {
	environ *environ
	id      string // as the runtime knows it
	folder  string // the bundle
	group   *cgroup.Group
	seat    *seat
	runtime *process   // or the shim in its place: it ends with the instance
	helpers []*process // a logger, a user-mode network
	agent   *agent.Client
	phases  []environment.Phase
	paths   environment.Paths
	notes   []string
	pid     int // of the first process inside, as the host numbers it
	release []func() error

	stop    sync.Mutex
	stopped bool
}

// How long an end may take before it is forced, and how long the forcing may.
const (
	grace  = 5 * time.Second
	forced = 30 * time.Second
)

func (i *instance) undo(step func() error) { i.release = append(i.release, step) }

func (i *instance) Agent() *agent.Client        { return i.agent }
func (i *instance) Address() string             { return i.seat.address }
func (i *instance) Phases() []environment.Phase { return i.phases }
func (i *instance) Notes() []string             { return i.notes }
func (i *instance) Paths() environment.Paths    { return i.paths }

// Unlimited says that the options leave the limits out.
func (i *instance) Unlimited() bool { return !i.environ.options.Limits }

// Footprint is the group, the runtime or shim, logger and user-mode network beside it, and
// the place where the network's bytes are counted.
func (i *instance) Footprint() sample.Footprint {
	footprint := i.seat.traffic
	footprint.Cgroups = []string{i.group.Path()}
	for _, h := range i.helpers {
		footprint.Processes = append(footprint.Processes, sample.Process{PID: h.Pid, Role: h.role})
	}
	if i.environ.options.gvisor() {
		footprint.Roles = GvisorRoles
	} else {
		footprint.Processes = append(footprint.Processes, sample.Process{PID: i.runtime.Pid, Role: i.runtime.role})
	}
	if i.seat.inside {
		footprint.NetworkPID = i.pid
	}
	return footprint
}

// Stop ends the agent, and with it the instance and the runtime, and forces what
// does not end.
func (i *instance) Stop(ctx context.Context) error {
	i.stop.Lock()
	defer i.stop.Unlock()
	if i.stopped {
		return nil
	}
	bound, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if i.agent.Err() == nil {
		_ = i.agent.Shutdown(bound) // what it did not do is forced below
	}
	i.agent.Close()
	select {
	case <-i.runtime.ended:
	case <-bound.Done():
	}
	if err := i.remove(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("stopping %s in %s: %w", i.id, i.folder, err)
	}
	i.stopped = true
	return nil
}

// remove makes sure that nothing of the instance is left, whatever state it is in.
// Its mounts go with the last process of their namespace.
func (i *instance) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, forced)
	defer cancel()
	var problems []error
	if i.runtime != nil {
		i.forceRuntime(ctx)
		i.runtime.Kill() // it may not have come as far as the group
	}
	// A helper in the group is told to go first, so that it can.
	for _, h := range i.helpers {
		if h.let != nil {
			problems = append(problems, h.end(ctx, false))
		}
	}
	if i.group != nil {
		problems = append(problems, i.group.Kill(ctx))
	}
	if i.runtime != nil {
		problems = append(problems, i.runtime.end(ctx, true))
	}
	for _, h := range i.helpers {
		problems = append(problems, h.end(ctx, true))
	}
	if i.group != nil {
		// Once more: the runtime may have put its child there before it died.
		problems = append(problems, i.group.Kill(ctx), i.group.Remove())
	}
	for _, release := range i.release {
		problems = append(problems, release())
	}
	if i.folder != "" {
		problems = append(problems, os.RemoveAll(i.folder))
	}
	return errors.Join(problems...)
}

// forceRuntime asks a runtime that has not ended by itself to delete its
// instance: it may have processes elsewhere than in the group. Whatever it says,
// the group is killed next.
func (i *instance) forceRuntime(ctx context.Context) {
	select {
	case <-i.runtime.ended:
		return
	default:
	}
	words := i.environ.runtime.delete(i.folder, i.id)
	bound, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	c := exec.CommandContext(bound, words[0], words[1:]...)
	c.WaitDelay = time.Second
	_ = c.Run()
}

// firstProcess is what the runtime wrote down; 0 if it did not.
func (i *instance) firstProcess() int {
	text, err := os.ReadFile(i.folder + "/pid")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}
