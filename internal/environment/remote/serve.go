package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/private"
	"tare/internal/linux/virtnet"
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
		last.Error = cmp.Or(last.Error, "failed without an error message")
	}
	if c.send(last) == nil && r.Call == callStart && err == nil {
		s.watch(ctx, result.(started).Instance)
	}
}

// call is a request that is answered.
type call struct {
	*server
	conversation *conversation
	request      request
	environment  environment.Environment // of a request with a kind
	instance     *served                 // of a request with an instance
}

// answers has what each call does; its result is sent.
var answers = map[string]func(*call, context.Context) (any, error){
	callDescribe: (*call).describe,
	callImage:    (*call).image,
	callPrepare:  (*call).prepare,
	callStart:    (*call).start,
	callFind:     (*call).find,
	callMeter:    (*call).meter,
	callLimits:   (*call).limits,
	callFreeze:   (*call).freeze,
	callThaw:     (*call).thaw,
	callStop:     (*call).stop,
	callNetwork:  (*call).network,
	callOverlay:  (*call).overlay,
	callReach:    (*call).reach,
	callClose:    (*call).close,
	callUsed: func(k *call, _ context.Context) (any, error) {
		return environment.UsageOfStart(k.instance.Instance), nil
	},
}

func (s *server) do(ctx context.Context, c *conversation, r request) (_ any, err error) {
	if r.Call == callCheck { // of options with which no environment can be made, too
		_, o, err := options(r)
		if err != nil {
			return nil, err
		}
		state, findings := environment.Check(ctx, r.Kind, o)
		return checkResult{state, findings}, nil
	}
	answer, known := answers[r.Call]
	if !known {
		return nil, fmt.Errorf("unknown call %q: both sides must be the same version of tare", r.Call)
	}
	k := &call{server: s, conversation: c, request: r}
	if r.Kind != "" {
		k.environment, err = s.environment(r)
	} else if r.Instance != 0 && r.Call != callStop {
		k.instance, err = s.instance(r.Instance)
	}
	if err != nil {
		return nil, err
	}
	return answer(k, ctx)
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

func (k *call) describe(ctx context.Context) (any, error) {
	bridged, can := k.environment.(environment.Bridged)
	return description{k.environment.Label(), k.environment.Versions(ctx), can && bridged.Bridged()}, nil
}

// image receives an image, if the store does not have it.
func (k *call) image(ctx context.Context) (any, error) {
	facts := k.request.Image
	if facts == nil {
		return nil, errors.New("no image is named")
	}
	_, err := k.store.Receive(ctx, facts.made(), func() (io.Reader, error) {
		if facts.Size <= 0 {
			return nil, fmt.Errorf("image %s is not in the store, and its size is missing", facts.Name)
		}
		if err := k.conversation.send(event{Want: true}); err != nil {
			return nil, err
		}
		return io.LimitReader(k.conversation.reader, facts.Size), nil
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

func (k *call) prepare(ctx context.Context) (any, error) {
	ctx, stop := cancellable(ctx, k.conversation)
	defer stop()
	img, err := k.have(ctx, k.request)
	if err != nil {
		return nil, err
	}
	err = k.environment.Prepare(ctx, img, func(line string) { _ = k.conversation.send(event{Say: line}) })
	return description{Label: k.environment.Label()}, err
}

func (k *call) network(ctx context.Context) (any, error) {
	n, err := k.environment.NewNetwork(ctx, k.owner, k.request.Name)
	if err != nil || n == nil {
		return networked{}, err
	}
	return k.keepNetwork(n), nil
}

func (s *server) keepNetwork(n environment.Network) networked {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.networks[s.last] = n
	return networked{Network: s.last, Path: n.Path(), Host: n.Host()}
}

// overlay makes this host's part of a network over several.
func (k *call) overlay(context.Context) (any, error) {
	if k.request.Overlay == nil {
		return nil, errors.New("no overlay is named")
	}
	n, err := k.request.Overlay.Join(k.owner.ID())
	if errors.Is(err, virtnet.ErrTaken) {
		return networked{Taken: true}, nil
	}
	if err != nil {
		return nil, err
	}
	return k.keepNetwork(n), nil
}

func (k *call) reach(ctx context.Context) (any, error) {
	k.mu.Lock()
	n, can := k.networks[k.request.Network].(environment.Spanning)
	k.mu.Unlock()
	if !can {
		return nil, errors.New("there is no such network over several hosts")
	}
	return struct{}{}, n.Reach(ctx)
}

func (k *call) close(ctx context.Context) (any, error) {
	k.mu.Lock()
	n := k.networks[k.request.Network]
	k.mu.Unlock()
	if n == nil {
		return struct{}{}, nil
	}
	err := n.Close(ctx)
	if err == nil {
		k.mu.Lock()
		delete(k.networks, k.request.Network)
		k.mu.Unlock()
	}
	return struct{}{}, err
}

// Command is tare's hidden command that runs the server of a session.
const Command = "host"

// Program runs the server on standard input and output.
func Program(ctx context.Context, args []string, home, version string) error {
	o := ServeOptions{Home: home, Version: version}
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Home, "home", home, "")
	flags.DurationVar(&o.Silence, "silence", Silence, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := private.Make(o.Home); err != nil {
		return fmt.Errorf("making tare's home on this host: %w: name a writable directory", err)
	}
	// An earlier session's tare may have been killed.
	if swept, err := cleanup.Sweep(ctx, o.Home, environment.Sweepers()...); err != nil || len(swept) > 0 {
		fmt.Fprintf(os.Stderr, "removed leftovers of a dead session: %s (%v)\n", strings.Join(swept, "; "), err)
	}
	// Writing to a broken stream must return an error and not end the process,
	// which has to clean up.
	signal.Ignore(syscall.SIGPIPE)
	stream, err := standardStream()
	if err != nil {
		return err
	}
	return Serve(ctx, stream, o)
}

// standard is the process's standard input and output as one stream.
type standard struct{ in, out *os.File }

// standardStream returns a stream whose Close interrupts reads and writes that
// are blocked, as they are when the link is lost.
func standardStream() (standard, error) {
	var files [2]*os.File
	for fd, name := range []string{"standard input", "standard output"} {
		if err := unix.SetNonblock(fd, true); err != nil {
			return standard{}, fmt.Errorf("the %s: %w", name, err)
		}
		files[fd] = os.NewFile(uintptr(fd), name)
	}
	return standard{files[0], files[1]}, nil
}

func (s standard) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s standard) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s standard) Close() error {
	err := errors.Join(s.in.Close(), s.out.Close())
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// callTimeout is for calls that are answered at once.
const callTimeout = 30 * time.Second
