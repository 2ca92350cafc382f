package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/environment/remote"
	"tare/internal/image"
)

// stand is the session with the machine, which is opened again where it was
// lost. Those who waited for a try that failed are told its reason, and try no
// other: a trial that starts many instances there tries once.
func (r *reached) stand(ctx context.Context) (*remote.Session, error) {
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
		r.close() // of what is lost there is nothing to hear
	}
	r.say("%v; connecting again", r.lost)
	defer r.tries.Add(1)
	if r.err = r.open(ctx); r.err != nil {
		r.close()
		r.err = fmt.Errorf("host %s: %w; connecting again failed: %w: look whether this works: ssh %s true", r.name, r.lost, r.err, r.ssh)
	}
	return r.session, r.err
}

// close ends the session, and with it what was started there.
func (r *reached) close() error {
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

// standing is an environment of a machine that outlives the sessions with it:
// after a loss it is prepared again before the next start.
type standing struct {
	on      *reached
	kind    string
	options json.RawMessage

	mu  sync.Mutex
	in  environment.Environment // of the session
	of  *remote.Session
	img *image.Image // that it was prepared for; nil before that
}

// environment of a machine, by the session that stands.
func (r *reached) environment(ctx context.Context, kind string, options json.RawMessage) (environment.Environment, error) {
	in, err := r.session.Environment(ctx, kind, options)
	if err != nil {
		return nil, err
	}
	s := &standing{on: r, kind: kind, options: options, in: in, of: r.session}
	if _, able := in.(environment.Networked); able {
		return &networkedStanding{s}, nil
	}
	return s, nil
}

func (s *standing) now() environment.Environment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in
}

// again is the environment in a session that stands.
func (s *standing) again(ctx context.Context) (environment.Environment, error) {
	session, err := s.on.stand(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == session {
		return s.in, nil
	}
	in, err := session.Environment(ctx, s.kind, s.options)
	if err == nil && s.img != nil {
		err = in.Prepare(ctx, s.img, func(string) {})
	}
	if err != nil {
		return nil, fmt.Errorf("host %s, after connecting again: %w", s.on.name, err)
	}
	s.in, s.of = in, session
	return in, nil
}

func (s *standing) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if err := s.now().Prepare(ctx, img, progress); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.img = img
	return nil
}

func (s *standing) Label() string                                  { return s.now().Label() }
func (s *standing) Versions(ctx context.Context) map[string]string { return s.now().Versions(ctx) }

func (s *standing) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	in, err := s.again(ctx)
	if err != nil {
		return nil, err
	}
	return in.Start(ctx, r)
}

// networkedStanding has networks between its instances.
type networkedStanding struct{ *standing }

func (s *networkedStanding) NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (environment.Network, error) {
	in, err := s.again(ctx)
	if err != nil {
		return nil, err
	}
	networked, able := in.(environment.Networked)
	if !able {
		return nil, fmt.Errorf("host %s: kind %s had a network between instances before the session was lost, and has none now", s.on.name, s.kind)
	}
	return networked.NewNetwork(ctx, o, name)
}
