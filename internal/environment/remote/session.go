// Package remote runs environments on another host: it puts tare there, starts
// its hidden command, and talks to it over one multiplexed stream. What it hands
// out are ordinary environments and instances. When the stream ends, however it
// ends, the other side ends all that was started through it.
//
// The side that asks is Session, the side that answers Serve. It must not know
// how a host is reached, nor any kind of environment.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/host"
	"tare/internal/image"
)

// Options of a session.
type Options struct {
	// Home is tare's folder on the host; "" is /var/lib/tare there, or what
	// TARE_HOME says.
	Home string
	// Sudo starts tare there by sudo, for a user who is not root.
	Sudo bool
	// Progress hears a line for each thing that takes time; nil is nobody.
	Progress func(string)

	// Silence is how long the other side may say nothing before it counts as lost; 0
	// is the usual.
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
	sent    map[string]bool // digests of images that are there
}

// Dial puts tare onto a host, if it is not there, and starts it. The host must
// stay open as long as the session.
func Dial(ctx context.Context, h host.Host) (*Session, error) { return DialWith(ctx, h, Options{}) }

// DialWith is Dial with options.
func DialWith(ctx context.Context, h host.Host, o Options) (*Session, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Silence == 0 {
		o.Silence = Silence
	}
	file, err := deploy(ctx, h, o)
	if err != nil {
		return nil, fmt.Errorf("putting tare onto %s: %w", h.Name(), err)
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
		stream.Close() // it has said all that it has to complain of
		return nil, refused(h, file, tail, err)
	}
	if s.mux, err = yamux.Client(s.link, s.link.settings(o.Silence)); err != nil {
		stream.Close()
		return nil, err
	}
	return s, nil
}

// Host is where the session leads.
func (s *Session) Host() host.Host { return s.host }

// Done is closed when the session is over; Err then says why.
func (s *Session) Done() <-chan struct{} { return s.mux.CloseChan() }

// Err is nil while the session stands.
func (s *Session) Err() error {
	select {
	case <-s.mux.CloseChan():
	default:
		return nil
	}
	if why := s.link.reason(); why != nil {
		return fmt.Errorf("the link to tare on %s is lost: %w%s", s.host.Name(), why, s.tail.Last())
	}
	return fmt.Errorf("the session with tare on %s is over", s.host.Name())
}

// Close ends the session, and with it all that was started through it.
func (s *Session) Close() error {
	s.closing.Do(func() { s.end = s.mux.Close() })
	return s.end
}

// call asks for something and hears the events up to the end of the call. The
// conversation is returned for what follows, and is the caller's to close.
func (s *Session) call(ctx context.Context, r request, hear func(*conversation, event) error) (*conversation, json.RawMessage, error) {
	c, err := s.ask(r)
	if err != nil {
		return nil, nil, s.explain(ctx, err)
	}
	// A call that can be cancelled ends with an answer all the same, as the other
	// side has to clear away; one that cannot is short.
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		if r.Call == callStart || r.Call == callPrepare {
			c.stream.Write([]byte("\n"))
		}
		enough := time.NewTimer(ending)
		defer enough.Stop()
		select {
		case <-done:
		case <-enough.C:
			c.stream.Close()
		}
	}()
	for {
		var e event
		if err := c.hear(&e); err != nil {
			c.stream.Close()
			return nil, nil, s.explain(ctx, err)
		}
		switch {
		case e.Error != "":
			c.stream.Close()
			return nil, nil, because(ctx, fmt.Errorf("on %s: %s", s.host.Name(), e.Error))
		case e.Result != nil:
			return c, e.Result, nil
		case hear != nil:
			if err := hear(c, e); err != nil {
				c.stream.Close()
				return nil, nil, s.explain(ctx, err)
			}
		}
	}
}

// ask opens a conversation with a request.
func (s *Session) ask(r request) (*conversation, error) {
	stream, err := s.mux.OpenStream()
	if err != nil {
		return nil, err
	}
	c := converse(stream)
	if err := c.say(r); err != nil {
		stream.Close()
		return nil, err
	}
	return c, nil
}

// explain says that the link is lost where that is why something did not work.
func (s *Session) explain(ctx context.Context, err error) error {
	if lost := s.Err(); lost != nil {
		err = lost
	} else if errors.Is(err, io.EOF) {
		err = fmt.Errorf("tare on %s broke a call off", s.host.Name())
	} else {
		err = fmt.Errorf("talking to tare on %s: %w", s.host.Name(), err)
	}
	return because(ctx, err)
}

// simple is a call with one answer.
func (s *Session) simple(ctx context.Context, r request, result any) error {
	c, answer, err := s.call(ctx, r, nil)
	if err != nil {
		return err
	}
	c.stream.Close()
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}

// Check runs the requirements of a kind there. The findings say where.
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

// Clock reads both hosts' monotonic clocks.
func (s *Session) Clock(ctx context.Context) (agent.ClockReading, error) {
	r := agent.ClockReading{Sent: time.Now()}
	err := s.simple(ctx, request{Call: callClock}, &r.Clock)
	r.Received = time.Now()
	return r, err
}

// send makes sure that the host has an image. It is sent once.
func (s *Session) send(ctx context.Context, img *image.Image, progress func(string)) (*imageFacts, error) {
	if img == nil {
		return nil, nil
	}
	facts := &imageFacts{Digest: img.Digest, Name: img.Name, Env: img.Env, Dir: img.Dir}
	if img.Digest == "" {
		return facts, nil // its bytes are not wanted there
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
	c, _, err := s.call(ctx, request{Call: callImage, Image: &whole}, func(c *conversation, e event) error {
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

// until is read up to the end of the context.
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
