package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tare/internal/environment"
	"tare/internal/usage"
)

// served is an instance that was started for the client.
type served struct {
	environment.Instance
	stopped chan struct{} // closed by stop
	once    sync.Once
	relay   io.Closer // nil until the client connects to the agent
}

func (k *call) start(ctx context.Context) (any, error) {
	r := k.request
	img, err := k.have(ctx, r)
	if err != nil {
		return nil, err
	}
	ask := environment.Request{Name: r.Name, Owner: k.owner, Image: img, Limits: r.Limits, Console: console{k.conversation}}
	if r.Network != 0 {
		k.mu.Lock()
		ask.Network = k.networks[r.Network]
		k.mu.Unlock()
		if ask.Network == nil {
			return nil, fmt.Errorf("starting %s: its network is closed", r.Name)
		}
	}
	// The context of the start must not end the instance later.
	starting, started := cancellable(ctx, k.conversation)
	i, err := k.environment.Start(starting, ask)
	if err == nil && starting.Err() != nil {
		err = errors.Join(context.Cause(starting), i.Stop(context.WithoutCancel(ctx)))
	}
	started()
	if err != nil {
		return nil, err
	}
	return k.keep(i), nil
}

// find finds an instance that was not started through this session.
func (k *call) find(ctx context.Context) (any, error) {
	registration, o, err := options(k.request)
	if err != nil {
		return nil, err
	}
	if registration.Find == nil {
		return nil, fmt.Errorf("kind %s finds no instances that others started", k.request.Kind)
	}
	i, err := registration.Find(ctx, o, k.request.Name)
	if err != nil {
		return nil, err
	}
	return k.keep(i), nil
}

func (s *server) keep(i environment.Instance) started {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.instances[s.last] = &served{Instance: i, stopped: make(chan struct{})}
	details := i.Details()
	details.Listen = environment.Listen(i)
	return started{s.last, i.Address(), i.Phases(), i.Paths(), i.Notes(), details}
}

// console sends what an instance prints.
type console struct{ c *conversation }

func (w console) Write(p []byte) (int, error) {
	// A client that is gone does not need it.
	_ = w.c.send(event{Console: p})
	return len(p), nil
}

// watch keeps the call of a start open, for the console, until the instance is
// stopped.
func (s *server) watch(ctx context.Context, id uint64) {
	i, err := s.instance(id)
	if err != nil {
		return
	}
	select {
	case <-i.stopped:
	case <-ctx.Done():
	}
}

func (s *server) instance(id uint64) (*served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[id]
	if i == nil {
		return nil, fmt.Errorf("there is no instance %d", id)
	}
	return i, nil
}

// agent connects the call's stream to the agent.
func (s *server) agent(c *conversation, r request) {
	i, err := s.instance(r.Instance)
	if err != nil {
		return
	}
	s.mu.Lock()
	i.relay = c.stream
	s.mu.Unlock()
	_ = i.Agent().Relay(c.raw())
}

func (k *call) meter(context.Context) (any, error) {
	o := usage.Options{Every: k.request.Every}
	begun := make(chan struct{})
	if k.request.Live {
		o.Each = func(seen usage.Reading) {
			select {
			case <-begun:
				// A client that is gone does not need it.
				_ = k.conversation.send(event{Reading: &seen})
			default:
			}
		}
	}
	m := environment.Meter(k.instance.Instance, o)
	if err := k.conversation.send(event{Begun: true}); err != nil {
		m.Stop()
		return nil, err
	}
	close(begun)
	_, _ = k.conversation.reader.ReadByte() // the client's request to end, or the end of the stream
	used := m.Stop()
	return watched{used, m.Series()}, nil
}

// limits checks from this machine whether the limits hold.
func (k *call) limits(ctx context.Context) (any, error) {
	limits, err := environment.CheckLimits(ctx, k.instance.Instance, k.request.Limits)
	var not *environment.LimitsError
	if errors.As(err, &not) {
		err = nil // the client decides by the effective limits
	}
	return limits, err
}

func (k *call) freeze(ctx context.Context) (any, error) {
	f := k.instance.Details().Freezer
	if f == nil {
		return frozen{"instances of this kind cannot be frozen"}, nil
	}
	err := f.Freeze(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return frozen{err.Error()}, nil
	}
	return frozen{}, err
}

func (k *call) thaw(ctx context.Context) (any, error) {
	if f := k.instance.Details().Freezer; f != nil {
		return struct{}{}, f.Thaw(ctx)
	}
	return struct{}{}, nil
}

func (k *call) stop(ctx context.Context) (any, error) {
	i, err := k.server.instance(k.request.Instance)
	if err != nil {
		return stopped{}, nil // it is stopped
	}
	began := time.Now()
	err = i.Stop(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if i.relay != nil {
		i.relay.Close()
	}
	if err == nil {
		delete(k.instances, k.request.Instance)
	}
	i.once.Do(func() { close(i.stopped) })
	var answer stopped
	if exited := i.Details().Exited; !exited.IsZero() {
		answer.Exit = exited.Sub(began)
	}
	return answer, err
}
