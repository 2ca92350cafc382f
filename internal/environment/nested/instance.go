package nested

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/usage"
)

// instance is an inner instance with its outer one, which has no other.
type instance struct {
	*outerMachine
	inner environment.Instance
	once  sync.Once
	ended error
}

func (i *instance) Agent() *agent.Client { return i.inner.Agent() }

// Address is the machine's.
func (i *instance) Address() string {
	if i.Shares {
		return i.outer.Address()
	}
	return ""
}

// Phases are those of the machine, of opening it, and of the inner start, with
// the environment's name before each. All preparation is one phase.
func (i *instance) Phases() []environment.Phase {
	var list []environment.Phase
	var prepared time.Duration
	add := func(of string, phases []environment.Phase) {
		for _, p := range phases {
			if p.Name == environment.PreparePhase {
				prepared += p.Duration
				continue
			}
			list = append(list, environment.Phase{Name: of + p.Name, Duration: p.Duration})
		}
	}
	add(i.Outer+" ", i.outer.Phases())
	add("", i.phases)
	add(i.Kind+" ", i.inner.Phases())
	return append([]environment.Phase{{Name: environment.PreparePhase, Duration: prepared}}, list...)
}

// Paths join both, the inner one first.
func (i *instance) Paths() environment.Paths {
	inner, outer := i.inner.Paths(), i.outer.Paths()
	return environment.Paths{
		Network: through(inner.Network, outer.Network, i.Outer),
		Root:    through(inner.Root, outer.Root, i.Outer),
		Data:    through(inner.Data, outer.Data, i.Outer),
		RootOn:  outer.RootOn, DataOn: outer.DataOn,
	}
}

func through(inner, outer, name string) string {
	switch {
	case inner == "":
		return outer
	case outer == "":
		return inner + " in " + name
	}
	return inner + " in " + name + ", then " + outer
}

// Details have the facts of both, with the machine's system and the versions of the
// programs in it; the inner one overrides. It has exited when the machine had.
func (i *instance) Details() environment.Details {
	outer, facts := i.outer.Details(), i.facts()
	maps.Copy(facts, outer.Facts)
	maps.Copy(facts, i.inner.Details().Facts)
	return environment.Details{Facts: facts, Exited: outer.Exited}
}

// Footprint is the whole machine's.
func (i *instance) Footprint() usage.Footprint { return i.outer.Footprint() }

// Given are the limits of both: cores are the machine's.
func (i *instance) Given(l environment.Limits) []environment.Given {
	l.Cores = nil
	return []environment.Given{{Instance: i.outer, Limits: i.Limits}, {Instance: i.inner, Limits: l}}
}

func (i *instance) Notes() []string {
	notes := lists.Map(i.outer.Notes(), func(n string) string { return i.Outer + ": " + strings.TrimPrefix(n, i.Outer+": ") })
	return append(notes, i.inner.Notes()...)
}

// Stop powers the machine off, which ends everything in it.
func (i *instance) Stop(ctx context.Context) error {
	i.once.Do(func() {
		i.inner.Agent().Close()
		i.ended = i.end(ctx)
	})
	return i.ended
}
