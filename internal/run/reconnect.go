package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tare/internal/environment"
	"tare/internal/environment/remote"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/virtnet"
	"tare/internal/run/trial/instances"
)

// connected returns the session with the host, and opens it again where it was
// lost. Callers that waited for an attempt that failed get its error and make no
// other one: a trial that starts many instances there makes one attempt.
func (r *studyHost) connected(ctx context.Context) (*remote.Session, error) {
	before := r.tries.Load()
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.session != nil && r.session.Err() == nil {
		return r.session, nil
	}
	if r.tries.Load() != before && r.err != nil {
		return nil, r.err
	}
	if r.session != nil {
		r.lost = r.session.Err()
		r.close() // its error says no more than lost does
	}
	r.say("%v; connecting again", r.lost)
	defer r.tries.Add(1)
	if r.err = r.open(ctx); r.err != nil {
		r.close()
		r.err = fmt.Errorf("host %s: %w; connecting again failed: %w: check whether this works: ssh %s true", r.name, r.lost, r.err, r.ssh)
	}
	return r.session, r.err
}

// close ends the session, which stops what was started there.
func (r *studyHost) close() error {
	var errs []error
	if r.session != nil {
		errs = append(errs, r.session.Close())
	}
	if r.host != nil {
		errs = append(errs, r.host.Close())
	}
	r.session, r.host = nil, nil
	return errors.Join(errs...)
}

// hostEnvironment is an environment on a host that outlives the session with it:
// after the session was lost it is prepared again before the next start.
type hostEnvironment struct {
	on      *studyHost
	kind    string
	options json.RawMessage

	mu  sync.Mutex
	in  environment.Environment // of the session
	of  *remote.Session
	img []*image.Image // that it was prepared for
}

// environment on the host, through the session that is open.
func (r *studyHost) environment(ctx context.Context, kind string, options json.RawMessage) (environment.Environment, error) {
	in, err := r.session.Environment(ctx, kind, options)
	if err != nil {
		return nil, err
	}
	return &hostEnvironment{on: r, kind: kind, options: options, in: in, of: r.session}, nil
}

func (s *hostEnvironment) current() environment.Environment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in
}

// reconnected is the environment in a session that works.
func (s *hostEnvironment) reconnected(ctx context.Context) (environment.Environment, error) {
	session, err := s.on.connected(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == session {
		return s.in, nil
	}
	in, err := session.Environment(ctx, s.kind, s.options)
	for _, img := range s.img {
		if err == nil {
			err = in.Prepare(ctx, img, func(string) {})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("host %s, after connecting again: %w", s.on.name, err)
	}
	s.in, s.of = in, session
	return in, nil
}

func (s *hostEnvironment) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if err := s.current().Prepare(ctx, img, progress); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.img, img) {
		s.img = append(s.img, img)
	}
	return nil
}

func (s *hostEnvironment) Label() string { return s.current().Label() }
func (s *hostEnvironment) Versions(ctx context.Context) map[string]string {
	return s.current().Versions(ctx)
}

func (s *hostEnvironment) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	in, err := s.reconnected(ctx)
	if err != nil {
		return nil, err
	}
	return in.Start(ctx, r)
}

func (s *hostEnvironment) NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (environment.Network, error) {
	in, err := s.reconnected(ctx)
	if err != nil {
		return nil, err
	}
	return in.NewNetwork(ctx, o, name)
}

// Bridged is that of the kind there.
func (s *hostEnvironment) Bridged() bool {
	b, can := s.current().(environment.Bridged)
	return can && b.Bridged()
}

// Join makes the host's part of a network over several.
func (s *hostEnvironment) Join(ctx context.Context, o virtnet.Overlay) (environment.Spanning, error) {
	in, err := s.reconnected(ctx)
	if err != nil {
		return nil, err
	}
	return in.(instances.Joining).Join(ctx, o)
}
