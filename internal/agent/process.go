package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/application/secret"
	"tare/internal/base/crash"
)

// killTimeout bounds how long Run waits for the exit of a command that it had
// killed because its context ended.
const killTimeout = 2 * time.Second

// Process is a command that runs in the instance.
type Process struct {
	client  *Client
	call    *call
	pid     int
	command Command
	flush   []*secret.Writer // at the end of the outputs

	ended    chan struct{} // closed after exit and err are set
	exit     Exit
	err      error
	stdinErr atomic.Pointer[sourceError] // why reading its standard input failed
}

// Start starts a command and returns once it runs.
func (c *Client) Start(ctx context.Context, cmd Command) (*Process, error) {
	if len(cmd.Argv) == 0 {
		return nil, errors.New("starting a command: its argv is empty")
	}
	start := wire.Start{
		Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir, User: cmd.User, CPUs: cmd.CPUs, Timeout: cmd.Timeout, Attached: cmd.Attached,
		Stdin: cmd.Stdin != nil, Input: cmd.Input, Stdout: cmd.Stdout != nil, Stderr: cmd.Stderr != nil,
		Joined: cmd.Stdout != nil && sameWriter(cmd.Stdout, cmd.Stderr),
	}
	p := &Process{client: c, call: c.open(), command: cmd, ended: make(chan struct{})}
	p.mask(start.Joined)
	defer c.expect(0)()
	if err := c.request(ctx, p.call, wire.TypeStart, start); err != nil {
		c.drop(p.call)
		return nil, err
	}
	f, err := c.receive(ctx, p.call)
	if err != nil && ctx.Err() != nil && c.Err() == nil {
		// The agent may have started it already: kill it, and wait for its end, so
		// that nothing of it runs beside what the caller does next.
		c.cancel(p.call)
		p.command.Stdout, p.command.Stderr = nil, nil
		crash.Go(p.deliver)
		select {
		case <-p.ended:
		case <-time.After(killTimeout):
		}
		return nil, err
	}
	var started wire.Started
	if err == nil {
		err = f.Decode(&started)
	}
	if err != nil {
		c.drop(p.call)
		return nil, err
	}
	p.pid = started.PID
	if start.Stdin {
		crash.Go(p.feed)
	}
	crash.Go(p.deliver)
	return p, nil
}

// Run starts a command and waits for its exit. A non-zero exit status is not an
// error: it is in the Exit. If the context ends first, the command's process
// group is killed.
func (c *Client) Run(ctx context.Context, cmd Command) (Exit, error) {
	p, err := c.Start(ctx, cmd)
	if err != nil {
		return Exit{}, err
	}
	if cmd.Timeout > 0 {
		defer c.expect(cmd.Timeout)()
	}
	exit, err := p.Wait(ctx)
	if err == nil || ctx.Err() == nil || c.Err() != nil {
		return exit, err
	}
	c.cancel(p.call)
	killCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	exit, _ = p.Wait(killCtx)
	return exit, fmt.Errorf("%s was killed: %w", cmd.Argv[0], err)
}

// mask masks secrets in the outputs.
func (p *Process) mask(joined bool) {
	secrets := p.client.secrets.Load()
	for n, to := range []*io.Writer{&p.command.Stdout, &p.command.Stderr} {
		if secrets == nil || p.command.Unmasked || *to == nil || n == 1 && joined {
			continue
		}
		masked := secrets.Writer(*to)
		p.flush = append(p.flush, masked)
		*to = masked
	}
}

// feed sends the command its standard input. A command may exit without reading
// all of it; an error of the reader kills the command.
func (p *Process) feed() {
	var source sourceError
	if err := p.client.feed(p.call, p.command.Stdin, p.ended); errors.As(err, &source) {
		p.stdinErr.Store(&source)
		p.client.cancel(p.call)
	}
}

// PID returns the command's process ID in the instance's PID namespace.
func (p *Process) PID() int { return p.pid }

// Signal sends a signal to the command's whole process group.
func (p *Process) Signal(ctx context.Context, s Signal) error {
	defer p.client.expect(0)()
	_, err := ask[struct{}](ctx, p.client, wire.TypeSignal, wire.Signal{Process: p.call.id, Number: int(s)})
	return err
}

// Wait returns when the command has exited and all its output was delivered. If
// the context ends first, the command keeps running.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.ended:
		return p.exit, p.err
	default:
	}
	select {
	case <-p.ended:
		return p.exit, p.err
	case <-ctx.Done():
		return Exit{}, context.Cause(ctx)
	}
}

// deliver writes the output to its receivers and sends credit for what they
// took, so that at most one window of output is in flight.
func (p *Process) deliver() {
	defer close(p.ended)
	defer func() {
		for _, w := range p.flush {
			if err := w.Flush(); err != nil && p.err == nil {
				p.err = p.outputError(err)
			}
		}
	}()
	defer p.client.drop(p.call)
	var consumed wire.ReceiveWindow
	for {
		f, err := p.client.receive(context.Background(), p.call)
		if err != nil {
			p.err = fmt.Errorf("%s: %w", p.command.Argv[0], err)
			return
		}
		switch f.Type {
		case wire.TypeStdout:
			p.writeOutput(p.command.Stdout, f.Payload)
		case wire.TypeStderr:
			p.writeOutput(p.command.Stderr, f.Payload)
		case wire.TypeExit:
			if err := f.Decode(&p.exit); err != nil {
				p.err = err
			} else if e := p.exit; e.Started < 0 || e.Ended < e.Started || e.User < 0 || e.System < 0 {
				p.exit, p.err = Exit{}, fmt.Errorf("%s: the agent reports an impossible end: %+v", p.command.Argv[0], e)
			} else if source := p.stdinErr.Load(); source != nil {
				p.err = fmt.Errorf("%s was killed: reading its standard input: %w", p.command.Argv[0], source.error)
			}
			return
		case wire.TypeStarted: // of a start that was given up
			continue
		default:
			p.client.end(fmt.Errorf("it sent a frame of type %d for a command", f.Type))
			continue // receive returns the error
		}
		if n := consumed.Add(len(f.Payload)); n > 0 {
			_ = p.client.send(nil, wire.Credit(p.call.id, n))
		}
	}
}

// writeOutput writes output to its receiver. If the receiver fails, the command
// still runs to its exit, and Wait returns the receiver's error.
func (p *Process) writeOutput(to io.Writer, data []byte) {
	if to == nil || p.err != nil {
		return
	}
	if _, err := to.Write(data); err != nil {
		p.err = p.outputError(err)
	}
}

func (p *Process) outputError(err error) error {
	return fmt.Errorf("%s: writing its output: %w", p.command.Argv[0], err)
}

// sameWriter reports whether both outputs go to one receiver.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false // the type is not comparable
		}
	}()
	return a == b
}
