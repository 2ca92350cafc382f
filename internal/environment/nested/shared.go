package nested

import (
	"context"
	"fmt"
	"sync"

	"tare/internal/environment"
)

// sharedMachine is an outer instance with several inner ones. The first that asks boots it,
// and the last that leaves powers it off.
type sharedMachine struct {
	users int // guarded by the nested environment's mu

	mu     sync.Mutex // held while it boots, and while an instance in it stops
	booted *outerMachine
}

// enter returns the machine that an instance is started in.
func (e *nested) enter(ctx context.Context, r environment.Request) (*outerMachine, error) {
	if !e.OneMachine || r.Beside == "" {
		return e.boot(ctx, r)
	}
	e.mu.Lock()
	s := e.shared[r.Beside]
	if s == nil {
		s = &sharedMachine{}
		e.shared[r.Beside] = s
	}
	s.users++
	e.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.booted == nil {
		r.Name = r.Beside
		if s.booted, err = e.boot(ctx, r); err != nil {
			s.booted = nil
			e.isLast(s)
			return nil, err
		}
		s.booted.shared = s
	} else if err = s.booted.environment.Prepare(ctx, r.Image, func(string) {}); err != nil {
		// It has the image of its first instance, and was given this one.
		err = fmt.Errorf("preparing %s in %s: %w", e.Kind, e.Outer, err)
		_ = s.booted.leaveLocked(context.WithoutCancel(ctx), nil)
		return nil, err
	}
	return s.booted, nil
}

// isLast takes a user from a machine, and says whether none is left.
func (e *nested) isLast(s *sharedMachine) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.users--
	if s.users > 0 {
		return false
	}
	for name, other := range e.shared {
		if other == s {
			delete(e.shared, name)
		}
	}
	return true
}

// leave ends an inner instance, if there is one, and the machine with the last of them.
func (w *outerMachine) leave(ctx context.Context, inner environment.Instance) error {
	if w.shared != nil {
		w.shared.mu.Lock()
		defer w.shared.mu.Unlock()
	}
	return w.leaveLocked(ctx, inner)
}

func (w *outerMachine) leaveLocked(ctx context.Context, inner environment.Instance) error {
	if last := w.shared == nil || w.isLast(w.shared); last {
		if inner != nil {
			inner.Agent().Close()
		}
		return w.end(ctx)
	}
	if inner == nil {
		return nil
	}
	return inner.Stop(ctx)
}

// enclosed is the network of instances that share a machine, and nothing with it: each
// machine has one of its own.
type enclosed struct {
	name string
	mu   sync.Mutex
	path string // of the networks in the machines, once one is made
}

// connect makes the network of the instances in a machine.
func (w *outerMachine) connect(ctx context.Context, n *enclosed) (err error) {
	if w.network, err = w.environment.NewNetwork(ctx, nil, n.name); err != nil {
		return fmt.Errorf("the network between instances in %s: %w", w.Outer, err)
	}
	if w.network == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.path = w.network.Path()
	return nil
}

// Path is that of a packet between two instances in a machine.
func (n *enclosed) Path() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.path
}

// Host is none: the instances reach no program on the host, nor does one reach them.
func (n *enclosed) Host() string { return "" }

// Enclosed says why.
func (n *enclosed) Enclosed() string {
	return "its instances have a network of their own in the machine that they share, which programs on the host do not reach: use a network that shares the machine's, such as network: host, or place no role on the host"
}

// Close closes nothing: each network ends with its machine.
func (n *enclosed) Close(context.Context) error { return nil }
