// Package fakeenv is an environment whose instances run nothing: each start,
// stop and command is a line of a log, and commands end as a test scripts them.
// The client of the agent is the real one, over the real protocol.
package fakeenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/usage"
)

// Log has what happened in all environments of a test, in its order.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Add appends a line.
func (l *Log) Add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// Lines so far.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// Result is how a command ends.
type Result struct {
	Stdout string
	Code   int
	Runs   bool          // until it is signalled
	Until  chan struct{} // with Runs: or until this is closed
	After  time.Duration // what the command takes by the instance's clock
	Dies   bool          // the instance is gone meanwhile
}

// Environment starts fake instances. It is safe for concurrent use.
type Environment struct {
	Log *Log
	// Script says how a command in an instance ends; nil is success without
	// output.
	Script func(instance, command string) Result
	// Fails is the error of the start of an instance; nil for none.
	Fails func(instance string) error
	// Unready servers never answer.
	Unready bool
	// Notes and Phases of each instance.
	Notes  []string
	Phases []environment.Phase
	// Freezes: instances can be frozen. Networks: they can be connected.
	Freezes, Networks bool
	// Address of each instance; "" for none.
	Address string
	// Loopback names the machine whose loopback an instance shares; nil for this one's
	// where that is the address.
	Loopback func(instance string) string
}

// Prepare does nothing.
func (e *Environment) Prepare(context.Context, *image.Image, func(string)) error { return nil }

// Label is empty.
func (e *Environment) Label() string { return "" }

// Versions are none.
func (e *Environment) Versions(context.Context) map[string]string { return nil }

// Start logs "start NAME".
func (e *Environment) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	if e.Fails != nil {
		if err := e.Fails(r.Name); err != nil {
			return nil, err
		}
	}
	e.Log.Add("start %s", r.Name)
	i := &Instance{env: e, name: r.Name, console: r.Console}
	var err error
	i.client, i.agent, err = connect(ctx, e, r.Name)
	return i, err
}

// NewNetwork logs "network NAME".
func (e *Environment) NewNetwork(_ context.Context, _ *cleanup.Owner, name string) (environment.Network, error) {
	if !e.Networks {
		return nil, nil
	}
	e.Log.Add("network %s", name)
	return &network{e, name}, nil
}

type network struct {
	env  *Environment
	name string
}

func (n *network) Path() string { return "a wire" }
func (n *network) Host() string { return "10.0.0.254" }

func (n *network) Close(context.Context) error {
	n.env.Log.Add("close %s", n.name)
	return nil
}

// Instance is a fake instance.
type Instance struct {
	environment.Started
	env     *Environment
	name    string
	console io.Writer
	client  *agent.Client
	agent   *fakeAgent
	once    sync.Once
}

// Agent is a real client of the fake agent.
func (i *Instance) Agent() *agent.Client { return i.client }

// Address is the environment's.
func (i *Instance) Address() string { return i.env.Address }

// Details are the exit, the instance as its freezer, and the environment's loopback.
func (i *Instance) Details() environment.Details {
	d := i.Started.Details()
	d.Freezer = i
	if i.env.Loopback != nil {
		d.Loopback = i.env.Loopback(i.name)
	}
	return d
}

// Phases are the environment's.
func (i *Instance) Phases() []environment.Phase { return i.env.Phases }

// Paths are none.
func (i *Instance) Paths() environment.Paths { return environment.Paths{} }

// Footprint is none.
func (i *Instance) Footprint() usage.Footprint { return usage.Footprint{} }

// Notes are the environment's.
func (i *Instance) Notes() []string { return i.env.Notes }

// Freeze logs "freeze NAME".
func (i *Instance) Freeze(context.Context) error {
	if !i.env.Freezes {
		return fmt.Errorf("no freezer: %w", errors.ErrUnsupported)
	}
	i.env.Log.Add("freeze %s", i.name)
	return nil
}

// Thaw logs "thaw NAME".
func (i *Instance) Thaw(context.Context) error {
	i.env.Log.Add("thaw %s", i.name)
	return nil
}

// Stop logs "stop NAME", once.
func (i *Instance) Stop(ctx context.Context) error {
	i.once.Do(func() {
		i.env.Log.Add("stop %s", i.name)
		i.NoteExit(time.Now())
		i.client.Close()
		i.agent.close()
	})
	if ctx.Err() != nil {
		return errors.New("stopped with a context that had ended")
	}
	return nil
}
