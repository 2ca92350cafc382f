package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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

func (s *server) start(ctx context.Context, c *conversation, r request) (any, error) {
	e, err := s.environment(r)
	if err != nil {
		return nil, err
	}
	img, err := s.have(ctx, r)
	if err != nil {
		return nil, err
	}
	ask := environment.Request{Name: r.Name, Owner: s.owner, Image: img, Limits: r.Limits, Console: console{c}}
	if r.Network != 0 {
		s.mu.Lock()
		ask.Network = s.networks[r.Network]
		s.mu.Unlock()
		if ask.Network == nil {
			return nil, fmt.Errorf("starting %s: its network is closed", r.Name)
		}
	}
	// The context of the start must not end the instance later.
	starting, started := cancellable(ctx, c)
	i, err := e.Start(starting, ask)
	if err == nil && starting.Err() != nil {
		err = errors.Join(context.Cause(starting), i.Stop(context.WithoutCancel(ctx)))
	}
	started()
	if err != nil {
		return nil, err
	}
	return s.keep(i), nil
}

// find finds an instance that was not started through this session.
func (s *server) find(ctx context.Context, r request) (any, error) {
	e, err := s.environment(r)
	if err != nil {
		return nil, err
	}
	able, finds := e.(environment.Finder)
	if !finds {
		return nil, fmt.Errorf("kind %s finds no instances that others started", r.Kind)
	}
	i, err := able.Find(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	return s.keep(i), nil
}

func (s *server) keep(i environment.Instance) started {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.instances[s.last] = &served{Instance: i, stopped: make(chan struct{})}
	return startedAs(s.last, i)
}

func startedAs(id uint64, i environment.Instance) started {
	may, is := i.(environment.Unlimited)
	var facts map[string]string
	if f, knows := i.(environment.Fingerprinter); knows {
		facts = f.Facts()
	}
	return started{
		Facts: facts, Unknown: environment.UnknownFacts(i),
		Instance: id, Address: i.Address(), Listen: environment.Listen(i),
		Phases: i.Phases(), Paths: i.Paths(), Notes: i.Notes(), Unlimited: is && may.Unlimited(),
	}
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

func (s *server) meter(c *conversation, r request) (any, error) {
	i, err := s.instance(r.Instance)
	if err != nil {
		return nil, err
	}
	o := usage.Options{Every: r.Every}
	begun := make(chan struct{})
	if r.Live {
		o.Each = func(seen usage.Reading) {
			select {
			case <-begun:
				// A client that is gone does not need it.
				_ = c.send(event{Reading: &seen})
			default:
			}
		}
	}
	m := environment.Meter(i.Instance, o)
	if err := c.send(event{Begun: true}); err != nil {
		m.Stop()
		return nil, err
	}
	close(begun)
	_, _ = c.reader.ReadByte() // the client's request to end, or the end of the stream
	used := m.Stop()
	return watched{used, m.Series()}, nil
}

// limits checks from this machine whether the limits hold.
func (s *server) limits(ctx context.Context, r request) (any, error) {
	i, err := s.instance(r.Instance)
	if err != nil {
		return nil, err
	}
	limits, err := environment.CheckLimits(ctx, i.Instance, r.Limits)
	var not *environment.LimitsError
	if errors.As(err, &not) {
		err = nil // the client decides by the effective limits
	}
	return limits, err
}

func (s *server) freeze(ctx context.Context, r request) (any, error) {
	i, err := s.instance(r.Instance)
	if err != nil {
		return nil, err
	}
	f, offered := i.Instance.(environment.Freezer)
	if !offered {
		return frozen{"instances of this kind cannot be frozen"}, nil
	}
	if err = f.Freeze(ctx); errors.Is(err, errors.ErrUnsupported) {
		return frozen{err.Error()}, nil
	}
	return frozen{}, err
}

func (s *server) thaw(ctx context.Context, r request) error {
	i, err := s.instance(r.Instance)
	if err != nil {
		return err
	}
	if f, offered := i.Instance.(environment.Freezer); offered {
		return f.Thaw(ctx)
	}
	return nil
}

func (s *server) used(r request) (any, error) {
	i, err := s.instance(r.Instance)
	if err != nil {
		return nil, err
	}
	return environment.UsageOfStart(i.Instance), nil
}

func (s *server) stop(ctx context.Context, r request) (any, error) {
	i, err := s.instance(r.Instance)
	if err != nil {
		return stopped{}, nil // it is stopped
	}
	began := time.Now()
	err = i.Stop(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i.relay != nil {
		i.relay.Close()
	}
	if err == nil {
		delete(s.instances, r.Instance)
	}
	i.once.Do(func() { close(i.stopped) })
	var answer stopped
	if e, knows := i.Instance.(environment.Ending); knows && !e.Exited().IsZero() {
		answer.Exit = e.Exited().Sub(began)
	}
	return answer, err
}

// monotonic reads this machine's monotonic clock.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}
