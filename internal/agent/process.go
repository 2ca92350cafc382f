package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"tare/internal/agent/wire"
)

// killPatience is how long Run waits for the end of a command that it has had
// killed because its context was over.
const killPatience = 2 * time.Second

// Process is a command that runs inside.
type Process struct {
	client  *Client
	call    *call
	pid     int
	command Command

	ended chan struct{} // closed after exit and err are set
	exit  Exit
	err   error
	unfed atomic.Pointer[sourceError] // why its standard input broke off
}

// Start starts a command and returns once it runs.
func (c *Client) Start(ctx context.Context, cmd Command) (*Process, error) {
	if len(cmd.Argv) == 0 {
		return nil, errors.New("starting a command: its argv is empty")
	}
	start := wire.Start{
		Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir, User: cmd.User, CPUs: cmd.CPUs, Timeout: cmd.Timeout,
		Stdin: cmd.Stdin != nil, Stdout: cmd.Stdout != nil, Stderr: cmd.Stderr != nil,
		Joined: cmd.Stdout != nil && same(cmd.Stdout, cmd.Stderr),
	}
	p := &Process{client: c, call: c.open(), command: cmd, ended: make(chan struct{})}
	if err := c.ask(ctx, p.call, wire.TypeStart, start); err != nil {
		c.drop(p.call)
		return nil, err
	}
	f, err := c.answer(ctx, p.call)
	if err != nil && ctx.Err() != nil && c.Err() == nil {
		// It may start all the same: have it killed, and see it to its end.
		c.cancel(p.call)
		p.command.Stdout, p.command.Stderr = nil, nil
		go p.deliver()
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
		go p.feed()
	}
	go p.deliver()
	return p, nil
}

// Run starts a command and waits for its end. An exit status other than 0 is
// no error: look at the Exit. When the context ends first, the command's
// process group is killed.
func (c *Client) Run(ctx context.Context, cmd Command) (Exit, error) {
	p, err := c.Start(ctx, cmd)
	if err != nil {
		return Exit{}, err
	}
	exit, err := p.Wait(ctx)
	if err == nil || ctx.Err() == nil || c.Err() != nil {
		return exit, err
	}
	c.cancel(p.call)
	patience, enough := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
	defer enough()
	exit, _ = p.Wait(patience)
	return exit, fmt.Errorf("%s was killed: %w", cmd.Argv[0], err)
}

// feed gives the command its standard input. What it leaves unread is none of
// anybody's concern; what could not be read for it is.
func (p *Process) feed() {
	var source sourceError
	if err := p.client.feed(p.call, p.command.Stdin, p.ended); errors.As(err, &source) {
		p.unfed.Store(&source)
		p.client.cancel(p.call)
	}
}

// PID of the command, as the instance numbers it.
func (p *Process) PID() int { return p.pid }

// Signal sends a signal to the command's whole process group.
func (p *Process) Signal(ctx context.Context, s Signal) error {
	c := p.client
	call := c.open()
	defer c.drop(call)
	if err := c.ask(ctx, call, wire.TypeSignal, wire.Signal{Process: p.call.id, Number: int(s)}); err != nil {
		return err
	}
	_, err := c.answer(ctx, call)
	return err
}

// Wait returns when the command has ended and all its output was delivered.
// When the context ends first the command goes on.
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

// deliver hands the output on, frame by frame, and grants the agent more as it
// goes: what is under way is never more than a window.
func (p *Process) deliver() {
	defer close(p.ended)
	defer p.client.drop(p.call)
	var consumed wire.ReceiveWindow
	for {
		f, err := p.client.answer(context.Background(), p.call)
		if err != nil {
			p.err = fmt.Errorf("%s: %w", p.command.Argv[0], err)
			return
		}
		switch f.Type {
		case wire.TypeStdout:
			p.hand(p.command.Stdout, f.Payload)
		case wire.TypeStderr:
			p.hand(p.command.Stderr, f.Payload)
		case wire.TypeExit:
			if err := f.Decode(&p.exit); err != nil {
				p.err = err
			} else if source := p.unfed.Load(); source != nil {
				p.err = fmt.Errorf("%s was killed: reading its standard input: %w", p.command.Argv[0], source.error)
			}
			return
		}
		if n := consumed.Add(len(f.Payload)); n > 0 {
			p.client.send(nil, wire.Credit(p.call.id, n))
		}
	}
}

// hand gives output to its receiver. When a receiver fails the command still
// runs to its end, and Wait returns the receiver's error.
func (p *Process) hand(to io.Writer, data []byte) {
	if to == nil || p.err != nil {
		return
	}
	if _, err := to.Write(data); err != nil {
		p.err = fmt.Errorf("%s: keeping its output: %w", p.command.Argv[0], err)
	}
}

// same says whether both outputs go to one receiver.
func same(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false // of a type that cannot be compared
		}
	}()
	return a == b
}
