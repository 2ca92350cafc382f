package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/virtnet"
)

// Environment is one of the host's. Its options are the kind's, as JSON. It
// implements environment.Networked when the kind does.
func (s *Session) Environment(ctx context.Context, kind string, options json.RawMessage) (environment.Environment, error) {
	e := &there{session: s, kind: kind, options: options}
	var d description
	if err := s.simple(ctx, e.request(callDescribe), &d); err != nil {
		return nil, err
	}
	e.label = d.Label
	if d.Networked {
		return &networkedThere{e}, nil
	}
	return e, nil
}

// there is an environment on the host.
type there struct {
	session *Session
	kind    string
	options json.RawMessage

	mu    sync.Mutex
	label string
}

func (e *there) request(call string) request {
	return request{Call: call, Kind: e.kind, Options: e.options}
}

// Prepare sends the image and prepares it there.
func (e *there) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	r := e.request(callPrepare)
	var err error
	if r.Image, err = e.session.send(ctx, img, progress); err != nil {
		return err
	}
	var d description
	c, err := e.session.call(ctx, r, &d, func(_ *conversation, e event) error {
		if e.Say != "" {
			progress(e.Say)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.stream.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.label = d.Label
	return nil
}

// Label is the environment's there.
func (e *there) Label() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.label
}

// Versions are those of the programs there.
func (e *there) Versions(ctx context.Context) map[string]string {
	var d description
	if err := e.session.simple(ctx, e.request(callDescribe), &d); err != nil {
		return nil
	}
	return d.Versions
}

// Start starts an instance there. Sending the image, if necessary, counts as
// preparation.
func (e *there) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	s, began := e.session, time.Now()
	ask := e.request(callStart)
	ask.Name, ask.Limits = r.Name, r.Limits
	if ask.Image, err = s.send(ctx, r.Image, func(string) {}); err != nil {
		return nil, err
	}
	if r.Network != nil {
		n, ours := r.Network.(*network)
		if !ours || n.session != s {
			return nil, fmt.Errorf("starting %s on %s: its network is not one of this host", r.Name, s.host.Name())
		}
		ask.Network = n.id
	}
	sent := time.Since(began)
	i := &Instance{session: s}
	i.console, err = s.call(ctx, ask, &i.started, func(_ *conversation, e event) error {
		_, _ = r.Console.Write(e.Console)
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = i.Stop(context.WithoutCancel(ctx))
		}
	}()
	crash.Go(func() { i.listen(r.Console) })
	i.learn()
	i.Timeline = environment.WithPreparation(i.Timeline, sent)
	if i.started.Listen == virtnet.HostAddress {
		i.More.Loopback = cmp.Or(s.host.Address(), s.host.Name())
	}
	if r.Network == nil {
		i.IP, i.More.Listen = s.outside(i.started)
	}
	talk, err := s.ask(request{Call: callAgent, Instance: i.started.Instance})
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	i.Client, err = agent.Connect(ctx, &channel{talk.stream, s})
	return i, err
}

// Find finds an instance on the host that was not started through the session, by the
// name that an environment.Finder there knows. It can be metered and frozen; it has no
// agent, and its Stop leaves it running.
func (s *Session) Find(ctx context.Context, kind string, options json.RawMessage, name string) (*Instance, error) {
	i := &Instance{session: s}
	var err error
	i.console, err = s.call(ctx, request{Call: callFind, Kind: kind, Options: options, Name: name}, &i.started, nil)
	if err != nil {
		return nil, err
	}
	i.learn()
	return i, nil
}

// outside returns the address by which other machines reach an instance, and the
// address that its servers listen on.
func (s *Session) outside(i started) (address, listen string) {
	host := s.host.Address()
	if a, err := netip.ParseAddr(i.Address); err != nil || !a.IsLoopback() || host == "" {
		return i.Address, i.Listen
	}
	if !slices.Contains(s.hello.Addresses, host) {
		return host, "0.0.0.0" // behind address translation
	}
	return host, host
}

// networkedThere has networks between its instances.
type networkedThere struct{ *there }

// NewNetwork makes a network there.
func (e *networkedThere) NewNetwork(ctx context.Context, _ *cleanup.Owner, name string) (environment.Network, error) {
	r := e.request(callNetwork)
	r.Name = name
	n := &network{session: e.session}
	var made networked
	if err := e.session.simple(ctx, r, &made); err != nil {
		return nil, err
	}
	n.id, n.path, n.host = made.Network, made.Path, made.Host
	return n, nil
}

type network struct {
	session    *Session
	id         uint64
	path, host string
}

func (n *network) Path() string { return n.path + " on " + n.session.host.Name() }

// Host returns the address of the host, as its instances see it.
func (n *network) Host() string { return n.host }

func (n *network) Close(ctx context.Context) error {
	if n.session.Err() == nil {
		if err := n.session.simple(ctx, request{Call: callClose, Network: n.id}, nil); n.session.Err() == nil {
			return err
		}
	}
	return nil // the other side closes it
}
