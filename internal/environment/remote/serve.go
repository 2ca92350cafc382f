package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

// ServeOptions are the options of the server.
type ServeOptions struct {
	Home    string // of tare on this host
	Version string
	Silence time.Duration // 0 is Silence
}

// server serves one session.
type server struct {
	home  string
	owner *cleanup.Owner
	store *image.Store

	mu           sync.Mutex
	last         uint64
	environments map[string]environment.Environment
	instances    map[uint64]*served
	networks     map[uint64]environment.Network
}

// Serve serves a session on a stream until the stream or the context ends. Then it
// ends everything that was started through the session, and closes the stream.
func Serve(ctx context.Context, stream io.ReadWriteCloser, o ServeOptions) (err error) {
	defer stream.Close()
	if o.Silence <= 0 {
		o.Silence = Silence
	}
	s := &server{
		environments: map[string]environment.Environment{}, instances: map[uint64]*served{}, networks: map[uint64]environment.Network{},
	}
	if s.owner, err = cleanup.Open(o.Home); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.disown()) }()
	s.home = s.owner.Home()
	if s.store, err = image.Open(filepath.Join(s.home, "images")); err != nil {
		return err
	}
	var name unix.Utsname
	_ = unix.Uname(&name)
	first, err := json.Marshal(hello{Version: o.Version, Home: s.home, CPUs: runtime.NumCPU(), Addresses: addresses(), Kernel: unix.ByteSliceToString(name.Release[:])})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stream, "%s %d %s\n", preamble, protocol, first); err != nil {
		return fmt.Errorf("sending the greeting: %w", err)
	}
	return s.answer(ctx, stream, o.Silence)
}

// disown ends the owner. What an environment left standing, and is gone now, is
// no fault of the session's: nobody is left to be told.
func (s *server) disown() error {
	err := s.owner.Close()
	if _, all := err.(*cleanup.LeftoverError); all {
		return nil
	}
	return err
}

// addresses are this host's, without the loopback's.
func addresses() (list []string) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			list = append(list, p.Addr().String())
		}
	}
	return list
}

// answer serves the calls of the multiplexer's streams.
func (s *server) answer(ctx context.Context, stream io.ReadWriteCloser, silence time.Duration) error {
	l := &link{ReadWriteCloser: stream}
	mux, err := yamux.Server(l, l.settings(silence))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { mux.Close() })()
	calls, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	for {
		one, err := mux.AcceptStream()
		if err != nil {
			break
		}
		all.Go(func() {
			defer crash.Exit()
			defer one.Close()
			s.call(calls, converse(one))
		})
	}
	cancel(errors.New("the session ended"))
	mux.Close()
	all.Wait()
	return s.clear()
}

// clear ends everything that the client has not ended.
func (s *server) clear() error {
	ctx, cancel := context.WithTimeout(context.Background(), environment.SessionStop.Kill)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	var problems []error
	for _, i := range s.instances {
		all.Go(func() {
			defer crash.Exit()
			err := i.Stop(ctx)
			mu.Lock()
			problems = append(problems, err)
			mu.Unlock()
		})
	}
	all.Wait()
	for _, n := range s.networks {
		problems = append(problems, n.Close(ctx))
	}
	return errors.Join(problems...)
}

// call receives a request, executes it and sends the result.
func (s *server) call(ctx context.Context, c *conversation) {
	var r request
	if err := c.receive(&r); err != nil {
		return
	}
	if r.Call == callAgent {
		s.agent(c, r)
		return
	}
	result, err := s.do(ctx, c, r)
	last := event{}
	if err == nil {
		last.Result, err = json.Marshal(result)
	}
	if err != nil {
		last = event{Error: err.Error()}
		if last.Error == "" {
			last.Error = "failed without an error message"
		}
	}
	if c.send(last) == nil && r.Call == callStart && err == nil {
		s.watch(ctx, result.(started).Instance)
	}
}

func (s *server) do(ctx context.Context, c *conversation, r request) (any, error) {
	switch r.Call {
	case callCheck:
		return s.check(ctx, r)
	case callDescribe:
		return s.describe(ctx, r)
	case callImage:
		return s.image(ctx, c, r)
	case callPrepare:
		ctx, stop := cancellable(ctx, c)
		defer stop()
		return s.prepare(ctx, c, r)
	case callStart:
		return s.start(ctx, c, r)
	case callFind:
		return s.find(ctx, r)
	case callMeter:
		return s.meter(c, r)
	case callLimits:
		return s.limits(ctx, r)
	case callFreeze:
		return s.freeze(ctx, r)
	case callThaw:
		return struct{}{}, s.thaw(ctx, r)
	case callUsed:
		return s.used(r)
	case callStop:
		return s.stop(ctx, r)
	case callNetwork:
		return s.network(ctx, r)
	case callClose:
		return struct{}{}, s.close(ctx, r)
	case callClock:
		return monotonic(), nil
	}
	return nil, fmt.Errorf("unknown call %q: both sides must be the same version of tare", r.Call)
}

// cancellable returns a context that ends when the client sends another byte, or
// closes the stream.
func cancellable(ctx context.Context, c *conversation) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	crash.Go(func() {
		if _, err := c.reader.ReadByte(); err != nil {
			cancel(errors.New("the client closed the call"))
		} else {
			cancel(errors.New("the client cancelled the call"))
		}
	})
	return ctx, func() { cancel(nil) }
}

// options decodes a request's options into the kind's own type.
func options(r request) (environment.Registration, any, error) {
	registration, known := environment.Lookup(r.Kind)
	if !known {
		return registration, nil, fmt.Errorf("kind %s: the tare there has no such kind of environment", r.Kind)
	}
	o := registration.Options()
	if len(r.Options) > 0 {
		if err := json.Unmarshal(r.Options, o); err != nil {
			return registration, nil, fmt.Errorf("kind %s: its options: %w", r.Kind, err)
		}
	}
	return registration, o, nil
}

func (s *server) check(ctx context.Context, r request) (any, error) {
	_, o, err := options(r)
	if err != nil {
		return nil, err
	}
	state, findings := environment.Check(ctx, r.Kind, o)
	return checkResult{state, findings}, nil
}

// environment is made once for each kind and options.
func (s *server) environment(r request) (environment.Environment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Kind + " " + string(r.Options)
	if e := s.environments[key]; e != nil {
		return e, nil
	}
	registration, o, err := options(r)
	if err != nil {
		return nil, err
	}
	e, err := registration.New(o)
	if err == nil {
		s.environments[key] = e
	}
	return e, err
}

func (s *server) describe(ctx context.Context, r request) (any, error) {
	e, err := s.environment(r)
	if err != nil {
		return nil, err
	}
	_, able := e.(environment.Networked)
	return description{e.Label(), able, e.Versions(ctx)}, nil
}

// image receives an image, if the store does not have it.
func (s *server) image(ctx context.Context, c *conversation, r request) (any, error) {
	if r.Image == nil {
		return nil, errors.New("no image is named")
	}
	_, err := s.store.Receive(ctx, r.Image.made(), func() (io.Reader, error) {
		if r.Image.Size <= 0 {
			return nil, fmt.Errorf("image %s is not in the store, and its size is missing", r.Image.Name)
		}
		if err := c.send(event{Want: true}); err != nil {
			return nil, err
		}
		return io.LimitReader(c.reader, r.Image.Size), nil
	})
	return struct{}{}, err
}

func (f imageFacts) made() image.Image {
	return image.Image{Digest: f.Digest, Name: f.Name, Env: f.Env, Dir: f.Dir}
}

// have returns an image that was sent before; nil for a request without one.
func (s *server) have(ctx context.Context, r request) (*image.Image, error) {
	if r.Image == nil {
		return nil, nil
	}
	if made := r.Image.made(); made.Digest == "" {
		return &made, nil
	}
	return s.store.Receive(ctx, r.Image.made(), func() (io.Reader, error) {
		return nil, fmt.Errorf("image %s was removed from the store there", r.Image.Name)
	})
}

func (s *server) prepare(ctx context.Context, c *conversation, r request) (any, error) {
	e, err := s.environment(r)
	if err != nil {
		return nil, err
	}
	img, err := s.have(ctx, r)
	if err != nil {
		return nil, err
	}
	err = e.Prepare(ctx, img, func(line string) { _ = c.send(event{Say: line}) })
	return description{Label: e.Label()}, err
}

func (s *server) network(ctx context.Context, r request) (any, error) {
	e, err := s.environment(r)
	if err != nil {
		return nil, err
	}
	able, ok := e.(environment.Networked)
	if !ok {
		return nil, fmt.Errorf("kind %s has no network between instances", r.Kind)
	}
	n, err := able.NewNetwork(ctx, s.owner, r.Name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.networks[s.last] = n
	return networked{s.last, n.Path(), n.Host()}, nil
}

func (s *server) close(ctx context.Context, r request) error {
	s.mu.Lock()
	n := s.networks[r.Network]
	s.mu.Unlock()
	if n == nil {
		return nil
	}
	err := n.Close(ctx)
	if err == nil {
		s.mu.Lock()
		delete(s.networks, r.Network)
		s.mu.Unlock()
	}
	return err
}
