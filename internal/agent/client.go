package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"tare/internal/agent/program"
	"tare/internal/agent/wire"
)

// Client talks to one agent. All methods are safe for concurrent use.
type Client struct {
	stream io.ReadWriteCloser
	hello  Hello
	out    chan wire.Frame // taken by the one goroutine that writes

	mu       sync.Mutex
	calls    map[uint32]*call
	last     uint32
	relay    *relay // nil until there is one
	leaving  bool   // the agent was asked to end, so its end is no surprise
	gone     chan struct{}
	goneWhy  error
	goneOnce sync.Once
}

// call is one request under way.
type call struct {
	id        uint32
	inbox     *wire.Inbox
	allowance *wire.SendWindow
}

// ErrGone is in every error that comes from an agent that is no longer there.
var ErrGone = errors.New("the agent is gone")

// RemoteError is what the agent says about a request that could not be done.
// errors.Is finds the system's error in it: fs.ErrNotExist, syscall.EACCES.
type RemoteError struct {
	Message string
	Errno   syscall.Errno
}

func (e *RemoteError) Error() string { return e.Message }

// Unwrap gives the system's error number, if there is one.
func (e *RemoteError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Connect waits for the agent's first word on the stream. The client owns the
// stream from then on, and closes it when Connect gives up.
func Connect(ctx context.Context, stream io.ReadWriteCloser) (*Client, error) {
	c := &Client{
		stream: stream, out: make(chan wire.Frame),
		calls: map[uint32]*call{}, gone: make(chan struct{}),
	}
	reader, heard := wire.NewReader(stream), make(chan error, 1)
	go func() { heard <- c.listen(reader) }()
	select {
	case err := <-heard:
		if err != nil {
			stream.Close()
			return nil, fmt.Errorf("waiting for the agent's first word: %w", err)
		}
	case <-ctx.Done():
		stream.Close()
		return nil, fmt.Errorf("waiting for the agent's first word: %w", context.Cause(ctx))
	}
	go c.read(reader)
	go c.write()
	return c, nil
}

// listen reads the first word.
func (c *Client) listen(reader *wire.Reader) error {
	if err := reader.Preamble(); err != nil {
		return err
	}
	f, err := reader.Next()
	if err != nil {
		return fmt.Errorf("the stream broke off: %w", err)
	}
	if f.Type != wire.TypeHello {
		return fmt.Errorf("it said something else (frame type %d)", f.Type)
	}
	if err := f.Decode(&c.hello); err != nil {
		return err
	}
	c.last = c.hello.First
	if c.hello.Protocol != wire.Protocol {
		return fmt.Errorf("the agent speaks protocol %d and this tare %d; build both from the same source (make build)", c.hello.Protocol, wire.Protocol)
	}
	return nil
}

// Hello is what the agent said first.
func (c *Client) Hello() Hello { return c.hello }

// Done is closed when the agent is gone; Err then says why.
func (c *Client) Done() <-chan struct{} { return c.gone }

// Err is nil while the agent is there.
func (c *Client) Err() error {
	select {
	case <-c.gone:
		return c.goneWhy
	default:
		return nil
	}
}

// Close drops the connection. The agent then ends all that it started, and
// itself.
func (c *Client) Close() error {
	c.end(errors.New("the connection was closed"))
	return nil
}

// end makes the agent's absence known to everybody who waits. The first reason
// counts.
func (c *Client) end(why error) {
	c.goneOnce.Do(func() {
		c.goneWhy = fmt.Errorf("%w: %w", ErrGone, why)
		close(c.gone)
		c.stream.Close()
	})
}

// read sorts what comes in by request. It never blocks on a request, so a slow
// receiver of output holds up nobody else.
func (c *Client) read(reader *wire.Reader) {
	for {
		f, err := reader.Next()
		if err != nil {
			c.mu.Lock()
			leaving, under := c.leaving, len(c.calls)
			c.mu.Unlock()
			switch {
			case leaving && err == io.EOF:
				err = errors.New("it was shut down")
			case err == io.EOF:
				err = fmt.Errorf("its stream ended with %d requests under way", under)
			default:
				err = fmt.Errorf("reading its stream: %w", err)
			}
			c.end(err)
			return
		}
		c.mu.Lock()
		call, relay := c.calls[f.Request], c.relay
		c.mu.Unlock()
		if call == nil && relay != nil && relay.owns(f.Request) {
			relay.queue.Put(f) // bounded by what its own side grants
			continue
		}
		if call == nil {
			continue // an answer that nobody waits for any more
		}
		if f.Type == wire.TypeCredit {
			n, err := f.Granted()
			if err != nil {
				c.end(err)
				return
			}
			call.allowance.Add(n)
		} else if !call.inbox.Put(f) {
			c.end(fmt.Errorf("it sent more for request %d than it was granted", f.Request))
			return
		}
	}
}

func (c *Client) write() {
	writer := wire.NewWriter(c.stream)
	for {
		select {
		case f := <-c.out:
			if err := writer.Write(f); err != nil {
				c.end(fmt.Errorf("writing to its stream: %w", err))
				return
			}
		case <-c.gone:
			return
		}
	}
}

// open registers a request; the frames that answer it go to its inbox until
// drop is called.
func (c *Client) open() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.last++; c.last == 0 || c.calls[c.last] != nil; c.last++ {
	}
	call := &call{id: c.last, inbox: wire.NewInbox(), allowance: wire.NewSendWindow()}
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
	select {
	case c.out <- f:
		return nil
	case <-c.gone:
		return c.goneWhy
	case <-stop:
		return context.Canceled
	}
}

// ask sends a message as a new request's first frame.
func (c *Client) ask(ctx context.Context, call *call, t wire.Type, message any) error {
	f, err := wire.JSON(t, call.id, message)
	if err != nil {
		return err
	}
	return c.because(ctx, c.send(ctx.Done(), f))
}

// because puts the context's own reason in place of the bare end of waiting.
func (c *Client) because(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// answer waits for the next frame of a request. A Failure is returned as an
// error.
func (c *Client) answer(ctx context.Context, call *call) (wire.Frame, error) {
	f, ok := call.inbox.Take(c.gone, ctx.Done())
	if !ok {
		if err := c.Err(); err != nil {
			return f, err
		}
		return f, context.Cause(ctx)
	}
	if f.Type == wire.TypeError {
		return f, failure(f)
	}
	return f, nil
}

func failure(f wire.Frame) error {
	var said wire.Failure
	if err := f.Decode(&said); err != nil {
		return err
	}
	return &RemoteError{said.Message, syscall.Errno(said.Errno)}
}

// cancel tells the agent that nobody waits for a request any more. The request
// is told in the background, as the caller's context is over.
func (c *Client) cancel(call *call) {
	go c.send(nil, wire.Frame{Type: wire.TypeCancel, Request: call.id})
}

// sourceError is what reading the data of a request came back with.
type sourceError struct{ error }

func (e sourceError) Unwrap() error { return e.error }

// feed sends data and its end, as fast as the agent takes it.
func (c *Client) feed(call *call, from io.Reader, stop <-chan struct{}) error {
	for {
		// A fresh one each time: the last frame may not be written yet.
		data := make([]byte, wire.Chunk)
		n, err := from.Read(data)
		for data = data[:n]; len(data) > 0; {
			n := call.allowance.Take(len(data), stop, c.gone)
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

// WriteBinary writes the agent's own program, a static executable of the host's
// architecture, once below the folder and returns its path.
func WriteBinary(folder string) (path string, err error) { return program.Write(folder) }
