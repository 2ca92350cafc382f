// Package remote runs environments on another host: it copies tare there, starts
// its hidden command, and calls it over one multiplexed stream. The environments
// and instances that it returns are used like local ones. When the stream ends,
// for whatever reason, the other side ends everything that was started through it.
//
// The client is Session, the server Serve. The package must not know how a host
// is reached, nor any kind of environment.
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/host"
	"tare/internal/image"
)

// Options of a session.
type Options struct {
	// Home is tare's home on the host; "" is its TARE_HOME, or /var/lib/tare.
	Home string
	// Sudo starts tare there with sudo, for a user who is not root.
	Sudo bool
	// Progress is called with a line for each slow step; nil for none.
	Progress func(string)

	// Silence is the time without data after which the link counts as lost; 0 is
	// the default.
	Silence time.Duration
}

// Session is tare on another host.
type Session struct {
	host  host.Host
	mux   *yamux.Session
	link  *link
	tail  *host.Tail
	hello hello

	closing sync.Once
	end     error
	sending sync.Mutex
	sent    map[string]bool // digests of images that the host has
}

// Dial copies tare to a host, if it is not there, and starts it. The host must
// stay open as long as the session.
func Dial(ctx context.Context, h host.Host, o Options) (*Session, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	o.Silence = cmp.Or(o.Silence, Silence)
	file, err := deploy(ctx, h, o)
	if err != nil {
		return nil, fmt.Errorf("copying tare to %s: %w", h.Name(), err)
	}
	tail := &host.Tail{}
	stream, err := h.Open(ctx, tail, o.argv(file)...)
	if err != nil {
		return nil, refused(h, file, tail, err)
	}
	s := &Session{host: h, link: &link{ReadWriteCloser: stream}, tail: tail, sent: map[string]bool{}}
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	s.hello, err = readHello(s.link)
	if !stop() {
		return nil, fmt.Errorf("starting %s on %s: %w", file, h.Name(), context.Cause(ctx))
	}
	if err != nil {
		stream.Close() // standard error is complete then
		return nil, refused(h, file, tail, err)
	}
	s.link.beside = func() string { return beside(h, o.Silence/4) }
	if s.mux, err = yamux.Client(s.link, s.link.settings(o.Silence)); err != nil {
		stream.Close()
		return nil, err
	}
	return s, nil
}

// beside tells a host that stands still from a tare that does, for the message of a
// link without data.
func beside(h host.Host, within time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if _, err := h.Run(ctx, "true"); err != nil {
		return fmt.Sprintf(", and a command there fails too: %v", err)
	}
	return ", but a command there still runs: tare there hangs"
}

// Host returns the host of the session.
func (s *Session) Host() host.Host { return s.host }

// Done is closed when the session has ended; Err then returns the reason.
func (s *Session) Done() <-chan struct{} { return s.mux.CloseChan() }

// Err is nil while the session is open.
func (s *Session) Err() error {
	select {
	case <-s.mux.CloseChan():
	default:
		return nil
	}
	if why := s.link.reason(); why != nil {
		return fmt.Errorf("the link to tare on %s is lost: %w%s", s.host.Name(), why, s.tail.Last())
	}
	return fmt.Errorf("the session with tare on %s has ended", s.host.Name())
}

// Close ends the session and everything that was started through it.
func (s *Session) Close() error {
	s.closing.Do(func() { s.end = s.mux.Close() })
	return s.end
}

// call sends a request and receives events up to the result; nil ignores that. The
// conversation is returned for further events; the caller closes it.
func (s *Session) call(ctx context.Context, r request, result any, handle func(*conversation, event) error) (_ *conversation, err error) {
	c, err := s.ask(r)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer func() {
		if err != nil {
			c.stream.Close()
		}
	}()
	// A call that can be cancelled still ends with an answer, since the other side
	// cleans up first. A call that cannot be cancelled is short.
	done := make(chan struct{})
	defer close(done)
	crash.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		if r.Call == callStart || r.Call == callPrepare {
			_, _ = c.stream.Write([]byte("\n"))
		}
		timeout := time.NewTimer(environment.SessionStop.Kill)
		defer timeout.Stop()
		select {
		case <-done:
		case <-timeout.C:
			c.stream.Close()
		}
	})
	for {
		var e event
		if err := c.receive(&e); err != nil {
			return nil, s.explain(ctx, err)
		}
		switch {
		case e.Error != "":
			return nil, because(ctx, fmt.Errorf("on %s: %s", s.host.Name(), e.Error))
		case e.Result != nil && result != nil:
			return c, json.Unmarshal(e.Result, result)
		case e.Result != nil:
			return c, nil
		case handle != nil:
			if err := handle(c, e); err != nil {
				return nil, s.explain(ctx, err)
			}
		}
	}
}

func (s *Session) ask(r request) (*conversation, error) {
	stream, err := s.mux.OpenStream()
	if err != nil {
		return nil, err
	}
	c := converse(stream)
	if err := c.send(r); err != nil {
		stream.Close()
		return nil, err
	}
	return c, nil
}

// explain replaces an error by that of the link, if the link is lost.
func (s *Session) explain(ctx context.Context, err error) error {
	if lost := s.Err(); lost != nil {
		err = lost
	} else if errors.Is(err, io.EOF) {
		err = fmt.Errorf("tare on %s closed the stream of a call", s.host.Name())
	} else {
		err = fmt.Errorf("calling tare on %s: %w", s.host.Name(), err)
	}
	return because(ctx, err)
}

// simple is a call whose only event is the result.
func (s *Session) simple(ctx context.Context, r request, result any) error {
	c, err := s.call(ctx, r, result, nil)
	if err == nil {
		c.stream.Close()
	}
	return err
}

// Check runs the checks of a kind's requirements on the host. The findings name the
// host.
func (s *Session) Check(ctx context.Context, kind string, options json.RawMessage) (environment.State, []environment.Finding) {
	var result checkResult
	if err := s.simple(ctx, request{Call: callCheck, Kind: kind, Options: options}, &result); err != nil {
		return environment.Missing, []environment.Finding{{State: environment.Missing, What: "tare on " + s.host.Name(), Reason: err.Error()}}
	}
	for n := range result.Findings {
		result.Findings[n].What += " on " + s.host.Name()
	}
	return result.State, result.Findings
}

// send sends an image if the host does not have it. It is sent once.
func (s *Session) send(ctx context.Context, img *image.Image, progress func(string)) (*imageFacts, error) {
	if img == nil {
		return nil, nil
	}
	facts := &imageFacts{Digest: img.Digest, Name: img.Name, Env: img.Env, Dir: img.Dir}
	if img.Digest == "" {
		return facts, nil // its root file system is not used there
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.sent[img.Digest] {
		return facts, nil
	}
	tar, err := os.Open(img.Tar())
	if err != nil {
		return nil, fmt.Errorf("sending image %s to %s: %w", img.Name, s.host.Name(), err)
	}
	defer tar.Close()
	info, err := tar.Stat()
	if err != nil {
		return nil, fmt.Errorf("sending image %s to %s: %w", img.Name, s.host.Name(), err)
	}
	whole := *facts
	whole.Size = info.Size()
	c, err := s.call(ctx, request{Call: callImage, Image: &whole}, nil, func(c *conversation, e event) error {
		if !e.Want {
			return nil
		}
		progress(fmt.Sprintf("sending image %s (%.0f MB) to %s", img.Name, float64(whole.Size)/1e6, s.host.Name()))
		_, err := io.Copy(c.stream, until{ctx, io.LimitReader(tar, whole.Size)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sending image %s: %w", img.Name, err)
	}
	c.stream.Close()
	s.sent[img.Digest] = true
	return facts, nil
}

// until fails once the context has ended.
type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Reader.Read(p)
}
