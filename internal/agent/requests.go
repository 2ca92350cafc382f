package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/base/crash"
)

// lastErrorTimeout bounds how long a canceled probe may take to report its last
// error.
const lastErrorTimeout = 250 * time.Millisecond

// defaultReadLimit bounds ReadFile if the caller sets no limit.
const defaultReadLimit = 64 << 20

// Await waits until the probe succeeds and returns how long that took. A command of the
// probe has the variables.
func (c *Client) Await(ctx context.Context, p Probe, env ...string) (time.Duration, error) {
	return c.await(ctx, wire.Await{Probe: p, Env: env})
}

// AwaitAs is Await with the variables, the directory and the user of a command for that of
// the probe.
func (c *Client) AwaitAs(ctx context.Context, p Probe, as Command) (time.Duration, error) {
	return c.await(ctx, wire.Await{Probe: p, Env: as.Env, Dir: as.Dir, User: as.User})
}

// ProbeOnce runs a probe once and reports whether it succeeded.
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
	if p.Timeout > 0 {
		defer c.expect(p.Timeout)()
	}
	if err := c.request(ctx, call, wire.TypeAwait, p); err != nil {
		return 0, err
	}
	f, err := c.receive(ctx, call)
	if err != nil && ctx.Err() != nil && c.Err() == nil {
		c.cancel(call)
		lastCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastErrorTimeout)
		defer cancel()
		var remote *RemoteError
		if _, last := c.receive(lastCtx, call); errors.As(last, &remote) {
			return 0, fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
	if err != nil {
		return 0, err
	}
	var awaited wire.Awaited
	if err = f.Decode(&awaited); err == nil && awaited.Elapsed < 0 {
		err = fmt.Errorf("the agent reports an impossible wait: %v", awaited.Elapsed)
	}
	return awaited.Elapsed, err
}

// ReadFile reads a file of the instance, at most limit bytes of it (0: 64 MiB).
func (c *Client) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = defaultReadLimit
	}
	call := c.open()
	defer c.drop(call)
	if err := c.request(ctx, call, wire.TypeRead, wire.Read{Path: path, Limit: limit}); err != nil {
		return nil, err
	}
	var data []byte
	var consumed wire.ReceiveWindow
	for {
		f, err := c.receive(ctx, call)
		switch {
		case err != nil:
			if ctx.Err() != nil {
				c.cancel(call)
			}
			return nil, err
		case f.Type == wire.TypeEnd:
			return []byte(c.secrets.Load().Mask(string(data))), nil
		case f.Type != wire.TypeData:
			return nil, fmt.Errorf("reading %s: the agent replied with a frame of type %d", path, f.Type)
		}
		if data = append(data, f.Payload...); int64(len(data)) > limit {
			c.end(fmt.Errorf("it sent more than the %d bytes of %s that it was asked for", limit, path))
			return nil, c.Err()
		}
		if n := consumed.Add(len(f.Payload)); n > 0 {
			if err := c.send(ctx.Done(), wire.Credit(call.id, n)); err != nil {
				return nil, c.contextError(ctx, err)
			}
		}
	}
}

// WriteFile writes a file in the instance and creates its parent directories.
func (c *Client) WriteFile(ctx context.Context, path string, mode uint32, data []byte) error {
	return c.WriteFrom(ctx, path, mode, bytes.NewReader(data))
}

// WriteFrom writes the data of a reader to a file in the instance and creates
// its parent directories. After an error the file may be incomplete.
func (c *Client) WriteFrom(ctx context.Context, path string, mode uint32, content io.Reader) error {
	_, err := c.writeFile(ctx, wire.Write{Path: path, Mode: mode}, content)
	return err
}

// Put writes a file as the request says: with an owner, in memory, behind a link.
func (c *Client) Put(ctx context.Context, w wire.Write, data []byte) error {
	_, err := c.writeFile(ctx, w, bytes.NewReader(data))
	return err
}

// WriteMemory writes a file of this name in the memory of the instance, which only the
// user can read, "" for root, and which ends with the agent. It returns the path.
func (c *Client) WriteMemory(ctx context.Context, name, user string, data []byte) (path string, err error) {
	return c.writeFile(ctx, wire.Write{Path: name, Memory: true, User: user}, bytes.NewReader(data))
}

func (c *Client) writeFile(ctx context.Context, w wire.Write, content io.Reader) (path string, err error) {
	call := c.open()
	defer c.drop(call)
	if err := c.request(ctx, call, wire.TypeWrite, w); err != nil {
		return "", err
	}
	// The agent may fail (no such user, disk full) before it has read all data.
	var written wire.Written
	answered, stop := make(chan error, 1), make(chan struct{})
	crash.Go(func() {
		f, err := c.receive(ctx, call)
		close(stop)
		if err == nil {
			err = f.Decode(&written)
		}
		answered <- err
	})
	feeding := c.feed(call, content, stop)
	var source sourceError
	if errors.As(feeding, &source) {
		c.cancel(call) // the agent still replies
		<-answered     //nolint:errcheck // the first error is the one that is reported
		return "", fmt.Errorf("writing %s: reading its content: %w", w.Path, source.error)
	}
	err = <-answered
	if err != nil && ctx.Err() != nil {
		c.cancel(call)
	}
	if err == nil && feeding != nil {
		return "", c.contextError(ctx, feeding)
	}
	return written.Path, err
}

// Clock reads the clocks of the host and of the instance.
func (c *Client) Clock(ctx context.Context) (ClockReading, error) {
	call := c.open()
	defer c.drop(call)
	defer c.expect(0)()
	r := ClockReading{Sent: time.Now()}
	if err := c.send(ctx.Done(), wire.Frame{Type: wire.TypeClock, Request: call.id}); err != nil {
		return r, c.contextError(ctx, err)
	}
	f, err := c.receive(ctx, call)
	r.Received = time.Now()
	if err != nil {
		return r, err
	}
	var instance wire.Clock
	err = f.Decode(&instance)
	r.Clock = instance.Clock
	return r, err
}

// Shutdown makes the agent kill all that it started and exit; a guest powers
// off. It returns when all that the agent started is gone.
func (c *Client) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.shuttingDown = true
	c.mu.Unlock()
	_, err := ask[struct{}](ctx, c, wire.TypeShutdown, struct{}{})
	if errors.Is(err, ErrGone) {
		return nil // the agent exited before its reply arrived
	}
	return err
}
