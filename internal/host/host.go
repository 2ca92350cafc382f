// Package host runs commands on a machine over SSH and in a running instance: it runs
// a command to its end, keeps a program running with a stream to it, and writes
// files.
//
// It must not know environments, images, workloads or studies.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tare/internal/agent"
	"tare/internal/base/bounded"
	"tare/internal/base/crash"
)

// Host is where commands run. It is safe for concurrent use.
type Host interface {
	// Name identifies the host in messages and reports: "ubuntu@10.0.0.2".
	Name() string
	// Address is the IPv4 address by which other hosts reach it; "" for none.
	Address() string
	// Run runs a command to its end and returns its standard output. The error
	// names the command, its exit status and the last lines of its standard
	// error. When the context ends first, Run returns, and the command may go on.
	Run(ctx context.Context, argv ...string) ([]byte, error)
	// Open starts a program and returns its standard input and output as one
	// stream. Closing the stream ends the program, and the stream ends with the
	// program. Its standard error is written to stderr.
	Open(ctx context.Context, stderr io.Writer, argv ...string) (io.ReadWriteCloser, error)
	// Put writes a file and makes the directories above it.
	Put(ctx context.Context, path string, mode fs.FileMode, content io.Reader) error
	// Close releases the connection to the host.
	Close() error
}

// Instance is a running instance as a host: its agent runs the commands. Close
// does nothing, as the instance belongs to the caller.
func Instance(name, address string, a *agent.Client) Host {
	return &instance{name: name, address: address, agent: a}
}

type instance struct {
	name, address string
	agent         *agent.Client
}

func (i *instance) Name() string    { return i.name }
func (i *instance) Address() string { return i.address }
func (i *instance) Close() error    { return nil }

func (i *instance) Run(ctx context.Context, argv ...string) ([]byte, error) {
	out := bounded.Buffer{Limit: bounded.Line}
	errs := &Tail{}
	exit, err := i.agent.Run(ctx, agent.Command{Argv: argv, Stdout: &out, Stderr: errs})
	if err == nil && !exit.OK() {
		err = &ExitError{Status: exit.Code, Signal: exit.Signal}
	}
	return out.Bytes(), explain(i, argv, err, errs)
}

func (i *instance) Open(ctx context.Context, stderr io.Writer, argv ...string) (io.ReadWriteCloser, error) {
	stdinR, stdinW := io.Pipe()
	stdoutR, stdoutW := io.Pipe()
	p, err := i.agent.Start(ctx, agent.Command{Argv: argv, Stdin: stdinR, Stdout: stdoutW, Stderr: stderr})
	if err != nil {
		return nil, explain(i, argv, errors.Join(err, stdinR.Close(), stdoutW.Close()), nil)
	}
	opened := &program{Reader: stdoutR, in: stdinW, ended: make(chan struct{}), release: func() { stdoutR.Close() }}
	opened.kill = func() {
		ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
		defer cancel()
		_ = p.Signal(ctx, agent.Signal(9))
	}
	crash.Go(func() {
		defer close(opened.ended)
		_, err := p.Wait(context.Background())
		stdinR.CloseWithError(io.ErrClosedPipe)
		stdoutW.CloseWithError(err) // nil is EOF
	})
	return opened, nil
}

func (i *instance) Put(ctx context.Context, file string, mode fs.FileMode, content io.Reader) error {
	unfinished := unfinished(file)
	err := i.agent.WriteFrom(ctx, unfinished, uint32(mode.Perm()), content)
	if err == nil {
		_, err = i.Run(ctx, "mv", "-f", "--", unfinished, file)
	}
	if err != nil {
		return fmt.Errorf("writing %s on %s: %w", file, i.name, err)
	}
	return nil
}
