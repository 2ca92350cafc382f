package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tare/internal/agent/wire"
)

// lastWord is how long a given-up probe may take to say what failed last.
const lastWord = 250 * time.Millisecond

// defaultReadLimit is what ReadFile reads at most when it is not told.
const defaultReadLimit = 64 << 20

// Await returns how long it took until the probe succeeded.
func (c *Client) Await(ctx context.Context, p Probe) (time.Duration, error) {
	return c.await(ctx, wire.Await{Probe: p})
}

// ProbeOnce tries a probe once, and says whether it succeeded.
func (c *Client) ProbeOnce(ctx context.Context, p Probe) (bool, error) {
	_, err := c.await(ctx, wire.Await{Probe: p, Once: true})
	var failed *RemoteError
	if ctx.Err() == nil && errors.As(err, &failed) {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) await(ctx context.Context, p wire.Await) (time.Duration, error) {
	call := c.open()
	defer c.drop(call)
	if err := c.ask(ctx, call, wire.TypeAwait, p); err != nil {
		return 0, err
	}
	f, err := c.answer(ctx, call)
	if err != nil && ctx.Err() != nil && c.Err() == nil {
		c.cancel(call)
		patience, enough := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer enough()
		var said *RemoteError
		if _, last := c.answer(patience, call); errors.As(last, &said) {
			return 0, fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
	if err != nil {
		return 0, err
	}
	var awaited wire.Awaited
	err = f.Decode(&awaited)
	return awaited.Elapsed, err
}

// ReadFile reads a file inside, at most limit bytes of it (0: 64 MiB).
func (c *Client) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = defaultReadLimit
	}
	call := c.open()
	defer c.drop(call)
	if err := c.ask(ctx, call, wire.TypeRead, wire.Read{Path: path, Limit: limit}); err != nil {
		return nil, err
	}
	var data []byte
	var consumed wire.ReceiveWindow
	for {
		f, err := c.answer(ctx, call)
		switch {
		case err != nil:
			if ctx.Err() != nil {
				c.cancel(call)
			}
			return nil, err
		case f.Type == wire.TypeEnd:
			return data, nil
		case f.Type != wire.TypeData:
			return nil, fmt.Errorf("reading %s: the agent answered with a frame of type %d", path, f.Type)
		}
		data = append(data, f.Payload...)
		if n := consumed.Add(len(f.Payload)); n > 0 {
			if err := c.send(ctx.Done(), wire.Credit(call.id, n)); err != nil {
				return nil, c.because(ctx, err)
			}
		}
	}
}

// WriteFile writes a file inside, making the folders above it.
func (c *Client) WriteFile(ctx context.Context, path string, mode uint32, data []byte) error {
	return c.WriteFrom(ctx, path, mode, bytes.NewReader(data))
}

// WriteFrom writes a file inside as its content comes, making the folders above
// it. After an error a part of it may be there.
func (c *Client) WriteFrom(ctx context.Context, path string, mode uint32, content io.Reader) error {
	call := c.open()
	defer c.drop(call)
	if err := c.ask(ctx, call, wire.TypeWrite, wire.Write{Path: path, Mode: mode}); err != nil {
		return err
	}
	// The agent may refuse (no such user, disk full) before it has taken all.
	answered, stop := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := c.answer(ctx, call)
		close(stop)
		answered <- err
	}()
	feeding := c.feed(call, content, stop)
	var source sourceError
	if errors.As(feeding, &source) {
		c.cancel(call) // which it answers
		<-answered
		return fmt.Errorf("writing %s: reading its content: %w", path, source.error)
	}
	err := <-answered
	if err != nil && ctx.Err() != nil {
		c.cancel(call)
	}
	if err == nil && feeding != nil {
		return c.because(ctx, feeding)
	}
	return err
}

// Clock reads both clocks.
func (c *Client) Clock(ctx context.Context) (ClockReading, error) {
	call := c.open()
	defer c.drop(call)
	r := ClockReading{Sent: time.Now()}
	if err := c.send(ctx.Done(), wire.Frame{Type: wire.TypeClock, Request: call.id}); err != nil {
		return r, c.because(ctx, err)
	}
	f, err := c.answer(ctx, call)
	r.Received = time.Now()
	if err != nil {
		return r, err
	}
	var inside wire.Clock
	err = f.Decode(&inside)
	r.Clock = inside.Clock
	return r, err
}

// Shutdown asks the agent to end what it started and itself; a guest powers
// off. It returns when all that the agent started has ended.
func (c *Client) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.leaving = true
	c.mu.Unlock()
	call := c.open()
	defer c.drop(call)
	if err := c.send(ctx.Done(), wire.Frame{Type: wire.TypeShutdown, Request: call.id}); err != nil {
		return c.because(ctx, err)
	}
	_, err := c.answer(ctx, call)
	if errors.Is(err, ErrGone) {
		return nil // it left without a last word, which is what was asked for
	}
	return err
}
