package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/environment"
	"tare/internal/environment/native"
	"tare/internal/environment/remote"
	"tare/internal/host"
)

// Start runs a request's image natively on a connected machine, such as a guest
// that was just started, in a new session. rootfs is "image" or "host". Stop ends
// the session but does not close the host. Copying tare and the image is the
// phase environment.PreparePhase.
func Start(ctx context.Context, h host.Host, rootfs string, r environment.Request) (_ environment.Instance, err error) {
	began := time.Now()
	s, err := remote.Dial(ctx, h, remote.Options{Progress: func(line string) { fmt.Fprintln(r.Console, line) }})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.Name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	o := native.Defaults()
	o.RootFS = rootfs
	if f := there(ctx, s, o); f.State == environment.Missing {
		return nil, fmt.Errorf("starting %s: %s", r.Name, f.Reason)
	}
	e, err := s.Environment(ctx, kindThere, text(o))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.Name, err)
	}
	r.Image = needed(rootfs, r.Image)
	if err := e.Prepare(ctx, r.Image, func(line string) { fmt.Fprintln(r.Console, line) }); err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.Name, err)
	}
	prepared := time.Since(began)
	i, err := e.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return &whole{i.(*remote.Instance), s, prepared}, nil
}

// whole is an instance with its session.
type whole struct {
	*remote.Instance
	session  *remote.Session
	prepared time.Duration
}

// Phases of the start, with the copying of tare.
func (w *whole) Phases() []environment.Phase {
	return environment.WithPreparation(w.Instance.Phases(), w.prepared)
}

// Stop ends the instance and the session.
func (w *whole) Stop(ctx context.Context) error {
	return errors.Join(w.Instance.Stop(ctx), w.session.Close())
}
