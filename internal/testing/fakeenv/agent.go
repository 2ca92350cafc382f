package fakeenv

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/agent/wire"
)

// fakeAgent is the instance's side of the agent's protocol. One goroutine answers
// all requests, so that the log has them in their order.
type fakeAgent struct {
	env      *Environment
	instance string
	stream   io.Closer
	out      *wire.Writer
	served   sync.WaitGroup
	closed   chan struct{}
	pending  map[uint32]bool // probes that are not answered

	mu      sync.Mutex
	running map[uint32]string // commands that run until a signal
	clock   time.Duration
}

func connect(ctx context.Context, env *Environment, instance string) (*agent.Client, *fakeAgent, error) {
	ours, theirs := net.Pipe()
	a := &fakeAgent{
		env: env, instance: instance, stream: theirs, out: wire.NewWriter(theirs),
		running: map[uint32]string{}, pending: map[uint32]bool{}, closed: make(chan struct{}),
	}
	a.served.Go(func() { a.serve(wire.NewReader(theirs)) })
	client, err := agent.Connect(ctx, ours)
	if err != nil {
		a.close()
	}
	return client, a, err
}

func (a *fakeAgent) close() {
	a.stream.Close()
	a.served.Wait()
}

func (a *fakeAgent) serve(in *wire.Reader) {
	a.out.Preamble()
	a.send(wire.TypeHello, 0, wire.Hello{Protocol: wire.Protocol, PID: 1, CPUs: 2, Cores: []int{0, 1}})
	defer close(a.closed)
	for {
		f, err := in.Next()
		if err != nil {
			return
		}
		a.handle(f)
	}
}

func (a *fakeAgent) handle(f wire.Frame) {
	switch f.Type {
	case wire.TypeStart:
		var s wire.Start
		f.Decode(&s)
		a.start(f.Request, s)
	case wire.TypeSignal:
		var s wire.Signal
		f.Decode(&s)
		if !a.kill(s.Process, unix.SignalName(syscall.Signal(s.Number))) {
			a.fail(f.Request, unix.ESRCH)
			return
		}
		a.send(wire.TypeReply, f.Request, struct{}{})
	case wire.TypeAwait:
		var p wire.Await
		f.Decode(&p)
		switch {
		case p.Once: // nothing answers at the port of a server yet
			a.fail(f.Request, unix.ECONNREFUSED)
		case a.env.Unready:
			a.pending[f.Request] = true
		default:
			a.send(wire.TypeReply, f.Request, wire.Awaited{})
		}
	case wire.TypeClock:
		a.send(wire.TypeReply, f.Request, wire.Clock{Clock: time.Duration(time.Now().UnixNano())})
	case wire.TypeRead:
		a.fail(f.Request, unix.ENOENT)
	case wire.TypeCancel:
		if a.pending[f.Request] {
			delete(a.pending, f.Request)
			a.fail(f.Request, unix.ETIMEDOUT)
		}
		a.kill(f.Request, "SIGKILL")
	}
}

// start logs "INSTANCE: COMMAND", with the cores it is pinned to, and ends the command as the script says.
func (a *fakeAgent) start(request uint32, s wire.Start) {
	text := strings.Join(s.Argv, " ")
	if shell, is := strings.CutPrefix(text, "/bin/sh -c "); is {
		text = shell
	}
	line := a.instance + ": " + text
	if len(s.CPUs) > 0 {
		line += fmt.Sprintf(" on cores %v", s.CPUs)
	}
	a.env.Log.Add("%s", line)
	var r Result
	if a.env.Script != nil {
		r = a.env.Script(a.instance, text)
	}
	a.send(wire.TypeStarted, request, wire.Started{PID: int(request) + 1})
	if r.Stdout != "" {
		a.out.Write(wire.Frame{Type: wire.TypeStdout, Request: request, Payload: []byte(r.Stdout)})
	}
	switch {
	case r.Dies:
		a.stream.Close()
	case r.Runs:
		a.mu.Lock()
		a.running[request] = text
		a.mu.Unlock()
		if r.Until != nil {
			a.served.Go(func() { a.exitAfter(r.Until, request, r) })
		}
	default:
		a.exit(request, wire.Exit{Code: r.Code}, r.After)
	}
}

// exitAfter ends a command when a channel is closed, unless a signal did before.
func (a *fakeAgent) exitAfter(until chan struct{}, request uint32, r Result) {
	select {
	case <-until:
		if a.take(request) != "" {
			a.exit(request, wire.Exit{Code: r.Code}, r.After)
		}
	case <-a.closed:
	}
}

// take removes a command from those that run; "" where it does not.
func (a *fakeAgent) take(request uint32) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := a.running[request]
	delete(a.running, request)
	return text
}

// kill ends a command that runs until a signal. It is only logged that one is stopped or
// goes on.
func (a *fakeAgent) kill(request uint32, signal string) bool {
	if signal == "SIGSTOP" || signal == "SIGCONT" {
		a.mu.Lock()
		defer a.mu.Unlock()
		text := a.running[request]
		if text != "" {
			a.env.Log.Add("%s: %s %s", a.instance, signal, text)
		}
		return text != ""
	}
	text := a.take(request)
	if text == "" {
		return false
	}
	a.env.Log.Add("%s: %s %s", a.instance, signal, text)
	a.exit(request, wire.Exit{Code: -1, Signal: signal}, 0)
	return true
}

func (a *fakeAgent) exit(request uint32, e wire.Exit, took time.Duration) {
	a.mu.Lock()
	e.Started = a.clock
	a.clock += took
	e.Ended = a.clock
	a.mu.Unlock()
	a.send(wire.TypeExit, request, e)
}

func (a *fakeAgent) send(t wire.Type, request uint32, message any) {
	if f, err := wire.JSON(t, request, message); err == nil {
		a.out.Write(f)
	}
}

func (a *fakeAgent) fail(request uint32, errno syscall.Errno) {
	a.send(wire.TypeError, request, wire.Failure{Message: errno.Error(), Errno: int(errno)})
}
