package instances

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tare/internal/application/secret"
	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/virtnet"
	"tare/internal/study"
	"tare/internal/usage"
)

// Group is all instances that a workload needs at a level, with the network
// between them.
type Group struct {
	// Copies of the workload that are measured, and Neighbours that disturb them.
	Copies     []Roles
	Neighbours []Roles
	Network    environment.Network // nil where no instance has to be reached
	// Starts are those of each copy's first instance, and Stops those of the same
	// instances, once they were stopped.
	Starts []Start
	Stops  []Stop
	// HostMemory is the memory that the host had available before the starts.
	HostMemory usage.Figure

	block     int
	instances []*Instance
	facts     StartFacts
	used      bool
	giveUp    context.CancelFunc // of the starts' context
	volumes   []string           // directories of services
}

// Start is when an instance's start was under way.
type Start struct {
	Took  time.Duration // without tare's own preparation
	Ready time.Time     // when the agent connected
}

// Stop is how long the stop of an instance took.
type Stop struct {
	Exit   time.Duration // until all that ran in it had exited; 0: not known
	Remove time.Duration // from then until nothing of it was left
}

// StartFacts are what the start of a group showed, for the first trial in it.
type StartFacts struct {
	Phases []environment.Phase // of a single instance
	Paths  *environment.Paths  // of the first instance that has any
	Notes  []string
}

// TakeFacts returns the facts of the start, once: to the first trial that uses
// the group. first says whether this is it.
func (g *Group) TakeFacts() (facts StartFacts, first bool) {
	facts, first = g.facts, !g.used
	g.facts, g.used = StartFacts{}, true
	return facts, first
}

// Instances are all instances of the group, in the order of their starts.
func (g *Group) Instances() []*Instance { return g.instances }

// Measured are the instances of the copies: all but the neighbours'.
func (g *Group) Measured() (list []*Instance) {
	for _, roles := range g.Copies {
		list = append(list, roles.Instances()...)
	}
	return list
}

// Metered are the measured instances, of those that share a machine the first: what all of
// them use is counted together.
func Metered(measured []*Instance) (list []*Instance) {
	seen := map[string]bool{}
	for _, i := range measured {
		machine := i.Details().Machine
		if i.Tested() && !seen[machine] {
			list = append(list, i)
			seen[machine] = machine != ""
		}
	}
	return list
}

// Loopback names the machine whose loopback an instance of the group shares, so that
// its servers cannot listen where those of another such group do; "" for none. In a
// network each instance has an address of its own.
func (g *Group) Loopback() string {
	for _, i := range g.instances {
		far := i.Details().Loopback
		switch {
		case i.OnHost:
		case far != "":
			return far
		case environment.Listen(i.Instance) == virtnet.HostAddress:
			return virtnet.HostAddress
		}
	}
	return ""
}

// Lost says whether the agent of any instance is gone.
func (g *Group) Lost() bool {
	return slices.ContainsFunc(g.instances, func(i *Instance) bool { return i.Agent().Err() != nil })
}

// Gone is why the agent of an instance is gone; nil where none is.
func (g *Group) Gone() error {
	for _, i := range g.instances {
		if err := i.Agent().Err(); err != nil {
			return fmt.Errorf("%s: %w", i.Name, err)
		}
	}
	return nil
}

// recordStart notes what the starts showed.
func (g *Group) recordStart(single, meets bool) {
	for _, roles := range g.Copies {
		first := roles.Instances()[0]
		g.Starts = append(g.Starts, Start{environment.StartTime(first.Phases()), first.ready})
	}
	if single {
		g.facts.Phases = g.instances[0].Phases()
	}
	for _, i := range g.Measured() {
		if paths := i.Paths(); i.Tested() && g.facts.Paths == nil && paths != (environment.Paths{}) {
			g.facts.Paths = &paths
		}
	}
	for _, i := range g.instances {
		g.facts.Notes = lists.Add(g.facts.Notes, i.Notes()...)
	}
	if g.Network != nil && meets {
		between := "between its instances, and from the host: "
		if _, is := g.Network.(environment.Enclosed); is {
			between = "between its instances: "
		} else if slices.ContainsFunc(g.instances, func(i *Instance) bool { return i.Details().Machine != "" }) {
			between = "between its instances, the loopback of the machine that they share; from the host: "
		}
		g.facts.Notes = append(g.facts.Notes, between+g.Network.Path())
	}
}

// stop stops all instances at the same time, and then closes their network.
func (g *Group) stop() error {
	errs := make([]error, len(g.instances)+2)
	crash.Each(len(g.instances), len(g.instances), func(n int) { errs[n] = g.instances[n].stop() })
	for _, roles := range g.Copies {
		g.Stops = append(g.Stops, roles.Instances()[0].stopped)
	}
	if g.giveUp != nil {
		g.giveUp()
	}
	if g.Network != nil {
		ctx, cancel := context.WithTimeout(context.Background(), environment.CallerStopTimeout)
		defer cancel()
		errs[len(g.instances)] = g.Network.Close(ctx)
	}
	errs[len(g.instances)+1] = g.removeVolumes()
	return errors.Join(errs...)
}

// Instance is one instance of a group.
type Instance struct {
	environment.Instance
	Name   string
	OnHost bool // runs a role on the host: its cost is not the environment's
	// Beside says that it is of the baseline's environment, whichever is measured: its cost
	// is not the environment's either.
	Beside bool
	Index  int // among the instances of its role, from 1

	image   *image.Image
	service *study.Service // that it runs; nil for none
	mounts  []environment.Mount
	own     bool   // it has the volumes of its service as directories of its own
	host    string // of the study, that the workload puts it on; "" is the environment's
	with    string // the first instance of its copy, where that has several; else ""
	// address by which the others reach it, where hosts lie between them; ""
	// where the network between the instances says it.
	address  string
	ready    time.Time // when its agent connected
	stopped  Stop
	frozen   bool
	idle     bool  // it cannot be frozen
	oomKills int64 // that OutOfMemory told of
	ran      map[string]bool
	atStop   []func(context.Context) error
	console  io.WriteCloser
	secrets  *secret.Set
	paths    map[string]string // of secrets that are files in the instance
}

// Tested says whether it is of the environment under test, which is measured.
func (i *Instance) Tested() bool { return !i.OnHost && !i.Beside }

// Env are the variables of its image, KEY=VALUE.
func (i *Instance) Env() []string {
	if i.image == nil {
		return nil
	}
	return i.image.Env
}

// HasRun says whether MarkRun was called with this name: what has to run once in
// an instance was done.
func (i *Instance) HasRun(name string) bool { return i.ran[name] }

// MarkRun notes that what has to run once in the instance was done.
func (i *Instance) MarkRun(name string) {
	if i.ran == nil {
		i.ran = map[string]bool{}
	}
	i.ran[name] = true
}

// OutOfMemory says how many processes of the instance the kernel has killed since the
// last call because memory was used up, as far as its cgroups on this machine tell.
func (i *Instance) OutOfMemory() int64 {
	kills := int64(0)
	for _, path := range i.Footprint().Cgroups {
		if group, err := cgroup.At(path); err == nil {
			kills += group.OOMKills()
		}
	}
	more := kills - i.oomKills
	i.oomKills = kills
	return max(0, more)
}

// AtStop registers what runs before the instance stops. An error of it goes to
// the instance's console.
func (i *Instance) AtStop(do func(context.Context) error) { i.atStop = append(i.atStop, do) }

func (i *Instance) stop() error {
	if i.Instance == nil {
		return nil // it was never started
	}
	ctx, cancel := context.WithTimeout(context.Background(), environment.CallerStopTimeout)
	defer cancel()
	for _, do := range i.atStop {
		if err := do(ctx); err != nil {
			fmt.Fprintln(i.console, err)
		}
	}
	began := time.Now()
	err := i.Stop(ctx)
	if exited := i.Details().Exited; err == nil && !exited.IsZero() {
		i.stopped = Stop{Exit: exited.Sub(began), Remove: time.Since(exited)}
	}
	if err != nil {
		err = fmt.Errorf("stop of %s: %w", i.Name, err)
	}
	return errors.Join(err, i.console.Close())
}
