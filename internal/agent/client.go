package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tare/internal/agent/executable"
	"tare/internal/agent/wire"
	"tare/internal/application/secret"
	"tare/internal/base/crash"
	"tare/internal/base/visible"
	"tare/internal/linux/private"
)

// Client talks to one agent. All methods are safe for concurrent use.
type Client struct {
	stream io.ReadWriteCloser
	hello  Hello
	out    chan wire.Frame // to the goroutine that writes
	second atomic.Pointer[second]
	// secrets are masked in all that the instance sends.
	secrets atomic.Pointer[secret.Set]

	mu           sync.Mutex
	calls        map[uint32]*call
	last         uint32
	relay        *relay // nil until Relay is called
	shuttingDown bool   // Shutdown was requested, so that EOF is expected
	gone         chan struct{}
	goneWhy      error
	goneOnce     sync.Once
}

// call is a pending request.
type call struct {
	id         uint32
	inbox      *wire.Inbox
	sendWindow *wire.SendWindow
}

// ErrGone is wrapped by every error of a request that failed because the agent
// exited or the connection to it was lost.
var ErrGone = errors.New("the agent is gone")

// RemoteError is an error that the agent reported. errors.Is matches the system
// error that caused it, such as fs.ErrNotExist or syscall.EACCES.
type RemoteError struct {
	Message string
	Errno   syscall.Errno
}

func (e *RemoteError) Error() string { return visible.Indent(e.Message) }

// Unwrap returns the errno, if there is one.
func (e *RemoteError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// helloTimeout is how long an instance may take to its agent's Hello where the caller
// sets no time: a runtime can hang, for example in a cgroup that somebody froze.
const helloTimeout = 10 * time.Minute

// Connect waits for the agent's Hello on the stream. The client owns the stream
// from then on. Connect closes the stream if it returns an error.
func Connect(ctx context.Context, stream io.ReadWriteCloser) (*Client, error) {
	if _, set := ctx.Deadline(); !set {
		within, cancel := context.WithTimeoutCause(ctx, helloTimeout, fmt.Errorf("it did not come within %v", helloTimeout))
		defer cancel()
		ctx = within
	}
	c := &Client{
		stream: stream, out: make(chan wire.Frame),
		calls: map[uint32]*call{}, gone: make(chan struct{}),
	}
	reader, hello := wire.NewReader(stream), make(chan error, 1)
	crash.Go(func() { hello <- c.readHello(reader) })
	select {
	case err := <-hello:
		if err != nil {
			stream.Close()
			return nil, fmt.Errorf("waiting for the agent's hello: %w", err)
		}
	case <-ctx.Done():
		stream.Close()
		return nil, fmt.Errorf("waiting for the agent's hello: %w", context.Cause(ctx))
	}
	crash.Go(func() { c.read(reader, nil) })
	crash.Go(func() { c.write(stream, c.out) })
	return c, nil
}

// readHello reads the preamble and the Hello, and checks the protocol version.
func (c *Client) readHello(reader *wire.Reader) error {
	if err := reader.Preamble(); err != nil {
		return err
	}
	f, err := reader.Next()
	if err != nil {
		return fmt.Errorf("the stream ended: %w", err)
	}
	if f.Type != wire.TypeHello {
		return fmt.Errorf("the first frame has type %d, not hello", f.Type)
	}
	if err := f.Decode(&c.hello); err != nil {
		return err
	}
	if h := c.hello; h.CPUs < 0 || h.Uptime < 0 || h.AgentTime < 0 || slices.ContainsFunc(h.Cores, func(core int) bool { return core < 0 || core >= mostCores }) {
		return fmt.Errorf("impossible values from the agent: %d CPUs, cores %s, up for %v, agent time %v", h.CPUs, clipped(fmt.Sprint(h.Cores)), h.Uptime, h.AgentTime)
	}
	c.last = c.hello.First
	if c.hello.Protocol != wire.Protocol {
		return fmt.Errorf("the agent has protocol version %d and this tare %d; build both from the same source (make build)", c.hello.Protocol, wire.Protocol)
	}
	return nil
}

// mostCores is how many CPUs Linux can be built for, and more.
const mostCores = 1 << 16

func clipped(text string) string { return fmt.Sprintf("%.100s", text) }

// Hello returns the agent's first message.
func (c *Client) Hello() Hello { return c.hello }

// Done is closed when the connection to the agent has ended; Err then returns
// why.
func (c *Client) Done() <-chan struct{} { return c.gone }

// Err returns nil while the agent is connected.
func (c *Client) Err() error {
	select {
	case <-c.gone:
		return c.goneWhy
	default:
		return nil
	}
}

// Close closes the connection. The agent then kills all that it started and
// exits.
func (c *Client) Close() error {
	c.end(errors.New("the connection was closed"))
	return nil
}

// answerTimeout is how long the agent may take for an answer, beyond the time of what it
// was asked for: one that is frozen from outside, or whose guest hangs, never answers.
const answerTimeout = time.Minute

// expect ends the connection unless the returned function is called in time, which is
// within the duration and the time for an answer.
func (c *Client) expect(within time.Duration) (answered func() bool) {
	within += answerTimeout
	return time.AfterFunc(within, func() { c.end(fmt.Errorf("it did not answer within %v", within)) }).Stop
}

// end closes the connection and fails all pending calls. Only the first reason
// is kept.
func (c *Client) end(why error) {
	c.goneOnce.Do(func() {
		c.goneWhy = fmt.Errorf("%w: %w", ErrGone, why)
		close(c.gone)
		c.stream.Close()
		if s := c.second.Load(); s != nil {
			s.stream.Close()
		}
	})
}

// read dispatches the incoming frames of the first stream, or of the second, by
// request. It never blocks on a request, so that a slow consumer of one request's
// output does not delay the others.
func (c *Client) read(reader *wire.Reader, of *second) {
	for {
		f, err := reader.Next()
		if of != nil && errors.Is(err, syscall.ECONNRESET) {
			err = io.EOF // the agent exited before it read all that was sent
		}
		if err != nil {
			c.mu.Lock()
			expected, pending := c.shuttingDown, len(c.calls)
			c.mu.Unlock()
			if err == io.EOF && c.second.Load().waits(of != nil, expected) {
				return
			}
			switch {
			case expected && err == io.EOF:
				err = errors.New("it was shut down")
			case err == io.EOF:
				err = fmt.Errorf("its stream ended with %d requests pending", pending)
			default:
				err = fmt.Errorf("reading its stream: %w", err)
			}
			c.end(err)
			return
		}
		if f.Type == wire.TypeExit || f.Type == wire.TypeError {
			c.second.Load().done(f.Request)
		}
		c.mu.Lock()
		call, relay := c.calls[f.Request], c.relay
		c.mu.Unlock()
		if call == nil && relay != nil && relay.owns(f.Request) {
			if !relay.queue.Put(f) {
				c.end(errors.New("it exceeded the flow-control windows of the relayed requests"))
				return
			}
			continue
		}
		if call == nil {
			continue // the reply to a canceled request
		}
		if f.Type == wire.TypeCredit {
			n, err := f.Granted()
			if err != nil {
				c.end(err)
				return
			}
			call.sendWindow.Add(n)
		} else if !call.inbox.Put(f) {
			c.end(fmt.Errorf("it exceeded the flow-control window of request %d", f.Request))
			return
		}
	}
}

func (c *Client) write(stream io.Writer, out <-chan wire.Frame) {
	writer := wire.NewWriter(stream)
	for {
		select {
		case f := <-out:
			if err := writer.Write(f); err != nil {
				c.end(fmt.Errorf("writing to its stream: %w", err))
				return
			}
		case <-c.gone:
			return
		}
	}
}

// open registers a request; frames for it go to its inbox until drop is called.
func (c *Client) open() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.last++; c.last == 0 || c.calls[c.last] != nil; c.last++ {
	}
	call := &call{id: c.last, inbox: wire.NewInbox(1), sendWindow: wire.NewSendWindow()}
	c.calls[call.id] = call
	return call
}

func (c *Client) drop(call *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call.id)
}

func (c *Client) send(stop <-chan struct{}, f wire.Frame) error {
	select {
	case <-c.gone:
		return c.goneWhy
	default:
	}
	out := c.out
	if s := c.second.Load(); s.takes(f) {
		out = s.out
	}
	select {
	case out <- f:
		return nil
	case <-c.gone:
		return c.goneWhy
	case <-stop:
		return context.Canceled
	}
}

// request sends a message as a new request's first frame.
func (c *Client) request(ctx context.Context, call *call, t wire.Type, message any) error {
	f, err := wire.JSON(t, call.id, message)
	if err != nil {
		return err
	}
	return c.contextError(ctx, c.send(ctx.Done(), f))
}

// ask makes a request that one reply answers.
func ask[T any](ctx context.Context, c *Client, t wire.Type, message any) (reply T, err error) {
	call := c.open()
	defer c.drop(call)
	if err := c.request(ctx, call, t, message); err != nil {
		return reply, err
	}
	f, err := c.receive(ctx, call)
	if err == nil {
		err = f.Decode(&reply)
	}
	return reply, err
}

// contextError replaces context.Canceled with the cause of the context.
func (c *Client) contextError(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// receive waits for the next frame of a request. An error frame is returned as
// a *RemoteError.
func (c *Client) receive(ctx context.Context, call *call) (wire.Frame, error) {
	f, ok := call.inbox.Take(c.gone, ctx.Done())
	if !ok {
		if err := c.Err(); err != nil {
			return f, err
		}
		return f, context.Cause(ctx)
	}
	if f.Type == wire.TypeError {
		return f, c.decodeFailure(f)
	}
	return f, nil
}

// MaskSecrets replaces these values from now on in all that the instance sends: outputs
// of commands, files, errors.
func (c *Client) MaskSecrets(s *secret.Set) { c.secrets.Store(s) }

func (c *Client) decodeFailure(f wire.Frame) error {
	var m wire.Failure
	if err := f.Decode(&m); err != nil {
		return err
	}
	return &RemoteError{c.secrets.Load().Mask(m.Message), syscall.Errno(m.Errno)}
}

// cancel tells the agent to abort a request. It sends in the background, since
// the caller's context has ended.
func (c *Client) cancel(call *call) {
	crash.Go(func() { c.send(nil, wire.Frame{Type: wire.TypeCancel, Request: call.id}) }) //nolint:errcheck // a stream that fails ends the call by itself
}

// sourceError is an error of the reader that a request's data comes from.
type sourceError struct{ error }

func (e sourceError) Unwrap() error { return e.error }

// feed sends the data of a reader, then an end frame, within the send window.
func (c *Client) feed(call *call, from io.Reader, stop <-chan struct{}) error {
	for {
		// A new buffer each time: the previous frame may not be written yet.
		data := make([]byte, wire.Chunk)
		n, err := from.Read(data)
		for data = data[:n]; len(data) > 0; {
			n := call.sendWindow.Take(len(data), stop, c.gone)
			if n == 0 {
				if err := c.Err(); err != nil {
					return err
				}
				return context.Canceled
			}
			if err := c.send(stop, wire.Frame{Type: wire.TypeData, Request: call.id, Payload: data[:n:n]}); err != nil {
				return err
			}
			data = data[n:]
		}
		if err == io.EOF {
			return c.send(stop, wire.Frame{Type: wire.TypeEnd, Request: call.id})
		}
		if err != nil {
			return sourceError{err}
		}
	}
}

// WriteBinary writes the agent's executable, static and of the host's
// architecture, to the directory unless it is there, and returns its path. It closes
// the directory to other users: root executes what is in it.
func WriteBinary(directory string) (path string, err error) {
	if err := private.Directory(directory); err != nil {
		return "", fmt.Errorf("writing the agent: %w", err)
	}
	return executable.Write(directory)
}
