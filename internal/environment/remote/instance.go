package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"tare/internal/usage"
)

// Environment is one of the host's. Its options are the kind's, as JSON.
func (s *Session) Environment(ctx context.Context, kind string, options json.RawMessage) (environment.Environment, error) {
	e := &there{session: s, kind: kind, options: options}
	var d description
	if err := s.simple(ctx, e.request(callDescribe), &d); err != nil {
		return nil, err
	}
	e.label, e.bridged = d.Label, d.Bridged
	return e, nil
}

// there is an environment on the host.
type there struct {
	session *Session
	kind    string
	options json.RawMessage
	bridged bool

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

// Bridged is that of the kind there.
func (e *there) Bridged() bool { return e.bridged }

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
	var of started
	i.console, err = s.call(ctx, ask, &of, func(_ *conversation, e event) error {
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
	i.learn(of)
	i.Timeline = environment.WithPreparation(i.Timeline, sent)
	if of.Details.Listen == virtnet.HostAddress {
		i.More.Loopback = cmp.Or(s.host.Address(), s.host.Name())
	}
	if r.Network == nil {
		i.IP, i.More.Listen = s.outside(of)
	}
	talk, err := s.ask(request{Call: callAgent, Instance: i.id})
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	i.Client, err = agent.Connect(ctx, &channel{talk.stream, s})
	return i, err
}

// Find finds an instance on the host that was not started through the session, by the
// name that the kind there defines. It can be metered and frozen; it has no
// agent, and its Stop leaves it running.
func (s *Session) Find(ctx context.Context, kind string, options json.RawMessage, name string) (*Instance, error) {
	var of started
	c, err := s.call(ctx, request{Call: callFind, Kind: kind, Options: options, Name: name}, &of, nil)
	if err != nil {
		return nil, err
	}
	i := &Instance{session: s, console: c}
	i.learn(of)
	return i, nil
}

// outside returns the address by which other machines reach an instance, and the
// address that its servers listen on.
func (s *Session) outside(i started) (address, listen string) {
	host := s.host.Address()
	if a, err := netip.ParseAddr(i.Address); err != nil || !a.IsLoopback() || host == "" {
		return i.Address, i.Details.Listen
	}
	if !slices.Contains(s.hello.Addresses, host) {
		return host, "0.0.0.0" // behind address translation
	}
	return host, host
}

// NewNetwork makes a network there.
func (e *there) NewNetwork(ctx context.Context, _ *cleanup.Owner, name string) (environment.Network, error) {
	r := e.request(callNetwork)
	r.Name = name
	var made networked
	if err := e.session.simple(ctx, r, &made); err != nil || made.Network == 0 {
		return nil, err
	}
	return &network{e.session, made.Network, made.Path, made.Host}, nil
}

// Join makes that host's part of a network over several.
func (e *there) Join(ctx context.Context, o virtnet.Overlay) (environment.Spanning, error) {
	var made networked
	if err := e.session.simple(ctx, request{Call: callOverlay, Overlay: &o}, &made); err != nil {
		return nil, err
	}
	if made.Taken {
		return nil, virtnet.ErrTaken
	}
	return &network{e.session, made.Network, made.Path, made.Host}, nil
}

type network struct {
	session    *Session
	id         uint64
	path, host string
}

func (n *network) Path() string { return n.path + " on " + n.session.host.Name() }

// Host returns the address of the host, as its instances see it.
func (n *network) Host() string { return n.host }

// Reach waits until that host reaches the others of a network over several.
func (n *network) Reach(ctx context.Context) error {
	return n.session.simple(ctx, request{Call: callReach, Network: n.id}, nil)
}

func (n *network) Close(ctx context.Context) error {
	if n.session.Err() == nil {
		if err := n.session.simple(ctx, request{Call: callClose, Network: n.id}, nil); n.session.Err() == nil {
			return err
		}
	}
	return nil // the other side closes it
}

// channel is an agent's stream, whose errors name a lost link.
type channel struct {
	io.ReadWriteCloser
	session *Session
}

func (c *channel) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if err != nil {
		if lost := c.session.Err(); lost != nil {
			err = lost
		}
	}
	return n, err
}

// Instance is one that runs there.
type Instance struct {
	environment.Started
	session *Session
	id      uint64 // there
	console *conversation

	stop sync.Once
	end  error
}

func (i *Instance) listen(to io.Writer) {
	for {
		var e event
		if err := i.console.receive(&e); err != nil {
			return
		}
		_, _ = to.Write(e.Console)
	}
}

// learn takes what the other host says of the instance.
func (i *Instance) learn(s started) {
	i.id, i.IP, i.Timeline, i.Route, i.Findings, i.More = s.Instance, s.Address, s.Phases, s.Paths, s.Notes, s.Details
	i.More.Freezer, i.More.EffectiveLimits = i, i.effectiveLimits
}

// Footprint has nothing on this machine: the instance is read there.
func (i *Instance) Footprint() usage.Footprint { return usage.Footprint{Elsewhere: i} }

// call is a request about this instance.
func (i *Instance) call(ctx context.Context, r request, result any) error {
	r.Instance = i.id
	return i.session.simple(ctx, r, result)
}

// Freeze freezes the instance there.
func (i *Instance) Freeze(ctx context.Context) error {
	var result frozen
	err := i.call(ctx, request{Call: callFreeze}, &result)
	if err == nil && result.Unsupported != "" {
		err = &unsupportedError{fmt.Sprintf("on %s: %s", i.session.host.Name(), result.Unsupported)}
	}
	return err
}

// unsupportedError is errors.ErrUnsupported of the other side, whose text has its words.
type unsupportedError struct{ text string }

func (e *unsupportedError) Error() string        { return e.text }
func (e *unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// Thaw thaws it.
func (i *Instance) Thaw(ctx context.Context) error {
	return i.call(ctx, request{Call: callThaw}, nil)
}

// Stop ends the instance and removes everything that its start made.
func (i *Instance) Stop(ctx context.Context) error {
	i.stop.Do(func() {
		if i.session.Err() == nil {
			began := time.Now()
			var s stopped
			i.end = i.call(ctx, request{Call: callStop}, &s)
			if s.Exit > 0 {
				i.NoteExit(began.Add(s.Exit))
			}
		}
		if i.session.Err() != nil {
			i.end = nil // the other side ends the instance, also if the link was lost meanwhile
		}
		if i.Client != nil {
			i.Client.Close()
		}
		i.console.stream.Close()
	})
	return i.end
}

// Meter watches the instance there.
func (i *Instance) Meter(o usage.Options) usage.Meter {
	m := &meter{instance: i, ended: make(chan struct{})}
	c, err := i.session.ask(request{Call: callMeter, Instance: i.id, Every: o.Every, Live: o.Each != nil})
	if err == nil {
		var e event
		if err = c.receive(&e); err == nil && !e.Begun {
			err = fmt.Errorf("on %s: %s", i.session.host.Name(), e.Error)
		}
	}
	if m.conversation, m.err = c, err; err != nil {
		close(m.ended)
		return m
	}
	crash.Go(func() { m.listen(o.Each) })
	return m
}

type meter struct {
	instance     *Instance
	conversation *conversation
	once         sync.Once
	ended        chan struct{} // closed by listen
	err          error
	watched      watched
}

// listen receives readings, if requested, and the result.
func (m *meter) listen(each func(usage.Reading)) {
	defer close(m.ended)
	var e event
	for m.err == nil && e.Result == nil {
		e = event{}
		if m.err = m.conversation.receive(&e); m.err == nil && e.Error != "" {
			m.err = fmt.Errorf("on %s: %s", m.instance.session.host.Name(), e.Error)
		}
		if e.Reading != nil && each != nil {
			each(*e.Reading)
		}
	}
	if m.err == nil {
		m.err = json.Unmarshal(e.Result, &m.watched)
	}
}

// Stop ends the measurement and returns the usage.
func (m *meter) Stop() usage.Usage {
	m.once.Do(func() {
		if m.conversation != nil {
			// If it fails the link is lost, which listen reports.
			_, _ = m.conversation.stream.Write([]byte("\n"))
		}
		<-m.ended
		if m.conversation != nil {
			m.conversation.stream.Close()
		}
		if m.err != nil {
			m.watched = watched{usage.Unknown("%v", m.instance.session.explain(context.Background(), m.err)), &usage.Series{}}
		}
	})
	return m.watched.Usage
}

// Series returns the readings.
func (m *meter) Series() *usage.Series { return m.watched.Series }

// effectiveLimits are those of the limits there: from inside, and from outside of the
// instance.
func (i *Instance) effectiveLimits(ctx context.Context, l environment.Limits) (limits []environment.EffectiveLimit, err error) {
	err = i.call(ctx, request{Call: callLimits, Limits: l}, &limits)
	return limits, err
}

// UsageOfStart returns the usage since the instance was made.
func (i *Instance) UsageOfStart() usage.Usage {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var used usage.Usage
	if err := i.call(ctx, request{Call: callUsed}, &used); err != nil {
		return usage.Unknown("%v", err)
	}
	return used
}
