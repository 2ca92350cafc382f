// Package server is the agent's side of the protocol: it runs commands in the
// instance, streams their output, asks whether servers answer, reads and
// writes files.
//
// It owns all children of its process, and so wants a process of its own. It
// must not be imported by the host's side, and must not know which environment
// it runs in. It imports as little as it can, for the sake of its size.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

// Options are what the program knows about itself.
type Options struct {
	Version string
	// Born is the monotonic time of the program's first instruction.
	Born time.Duration
	// Stop ends serving like the end of the stream does; a signal that asks the
	// agent to end closes it.
	Stop <-chan struct{}
}

// server is one connection's worth of requests.
type server struct {
	children *children
	out      *wire.Writer
	over     chan struct{} // closed when nothing can be sent any more
	overOnce sync.Once

	mu    sync.Mutex
	tasks map[uint32]*task
}

// task is one request under way.
type task struct {
	id        uint32
	inbox     *wire.Inbox
	allowance *wire.SendWindow
	ctx       context.Context
	cancel    context.CancelFunc

	mu    sync.Mutex
	child *child // of a Start, once it runs
}

// Serve says hello on the stream and serves it until its end, a Shutdown
// request or Stop. Everything that was started is dead when it returns.
func Serve(stream io.ReadWriter, o Options) error {
	s := &server{
		children: newChildren(), out: wire.NewWriter(stream),
		over: make(chan struct{}), tasks: map[uint32]*task{},
	}
	if err := s.hello(o); err != nil {
		return fmt.Errorf("saying hello: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.read(wire.NewReader(stream)) }()
	var err error
	select {
	case err = <-ended:
	case <-o.Stop:
	case <-s.over:
	}
	s.end()
	return errors.Join(err, s.children.killAll())
}

func (s *server) end() { s.overOnce.Do(func() { close(s.over) }) }

func (s *server) hello(o Options) error {
	var name unix.Utsname
	unix.Uname(&name)
	if err := s.out.Preamble(); err != nil {
		return err
	}
	hello := wire.Hello{
		Protocol: wire.Protocol, Version: o.Version, PID: os.Getpid(), CPUs: runtime.NumCPU(),
		Kernel: unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:]),
		Uptime: Uptime(), Clock: Monotonic(),
	}
	hello.AgentTime = hello.Clock - o.Born
	return s.send(wire.TypeHello, 0, hello)
}

func (s *server) send(t wire.Type, request uint32, message any) error {
	f, err := wire.JSON(t, request, message)
	if err != nil {
		return err
	}
	return s.write(f)
}

func (s *server) write(f wire.Frame) error {
	err := s.out.Write(f)
	if err != nil {
		s.end()
	}
	return err
}

// read takes requests off the stream. It neither writes nor waits: a side that
// does both on one stream can lock itself against the other.
func (s *server) read(r *wire.Reader) error {
	for {
		f, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading requests: %w", err)
		}
		s.mu.Lock()
		t := s.tasks[f.Request]
		s.mu.Unlock()
		switch f.Type {
		case wire.TypeCredit:
			n, err := f.Granted()
			if err != nil {
				return err
			}
			if t != nil {
				t.allowance.Add(n)
			}
		case wire.TypeCancel:
			if t != nil {
				t.abandon(s.children)
			}
		case wire.TypeData, wire.TypeEnd:
			if t != nil && !t.inbox.Put(f) {
				return fmt.Errorf("request %d was sent more data than it had granted", f.Request)
			}
		case wire.TypeClock:
			now := Monotonic() // here, not in a goroutine that starts later
			go s.send(wire.TypeReply, f.Request, wire.Clock{Clock: now})
		default:
			if t != nil {
				return fmt.Errorf("request %d was asked twice", f.Request)
			}
			s.begin(f)
		}
	}
}

// begin works on a request in a goroutine of its own.
func (s *server) begin(f wire.Frame) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &task{id: f.Request, inbox: wire.NewInbox(), allowance: wire.NewSendWindow(), ctx: ctx, cancel: cancel}
	s.mu.Lock()
	s.tasks[t.id] = t
	s.mu.Unlock()
	go func() {
		last := s.work(t, f)
		cancel()
		s.mu.Lock()
		delete(s.tasks, t.id)
		s.mu.Unlock()
		s.write(last)
		if f.Type == wire.TypeShutdown {
			s.end()
		}
	}()
}

// work does what was asked and returns the frame that ends the request.
func (s *server) work(t *task, f wire.Frame) wire.Frame {
	var reply any = struct{}{}
	answer, err := wire.TypeReply, error(nil)
	switch f.Type {
	case wire.TypeStart:
		var m wire.Start
		if err = f.Decode(&m); err == nil {
			answer = wire.TypeExit
			reply, err = s.start(t, m)
		}
	case wire.TypeSignal:
		var m wire.Signal
		if err = f.Decode(&m); err == nil {
			err = s.signal(m)
		}
	case wire.TypeAwait:
		var m wire.Await
		if err = f.Decode(&m); err == nil {
			var a wire.Awaited
			a.Elapsed, err = s.await(t.ctx, m)
			reply = a
		}
	case wire.TypeRead:
		var m wire.Read
		if err = f.Decode(&m); err == nil {
			answer = wire.TypeEnd
			err = s.readFile(t, m)
		}
	case wire.TypeWrite:
		var m wire.Write
		if err = f.Decode(&m); err == nil {
			err = s.writeFile(t, m)
		}
	case wire.TypeShutdown:
		err = s.children.killAll()
	default:
		err = fmt.Errorf("this agent knows no request of type %d", f.Type)
	}
	last := wire.Frame{Type: answer, Request: t.id}
	if err == nil && answer != wire.TypeEnd {
		last.Payload, err = json.Marshal(reply)
	}
	if err != nil {
		failed := wire.Failure{Message: err.Error()}
		var number syscall.Errno
		if errors.As(err, &number) {
			failed.Errno = int(number)
		} else if errors.Is(err, os.ErrNotExist) {
			failed.Errno = int(unix.ENOENT)
		}
		last.Type = wire.TypeError
		last.Payload, _ = json.Marshal(failed) // two plain fields
	}
	return last
}

// abandon is what Cancel does: a command is killed, all else just stops.
func (t *task) abandon(c *children) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel()
	if t.child != nil {
		c.signal(t.child, unix.SIGKILL)
	}
}

func (s *server) signal(m wire.Signal) error {
	s.mu.Lock()
	t := s.tasks[m.Process]
	s.mu.Unlock()
	if t == nil {
		return fmt.Errorf("sending %s: the command has ended: %w", signalName(syscall.Signal(m.Number)), unix.ESRCH)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.child == nil {
		return fmt.Errorf("sending %s: the command does not run", signalName(syscall.Signal(m.Number)))
	}
	if err := s.children.signal(t.child, syscall.Signal(m.Number)); err != nil {
		return fmt.Errorf("sending %s: %w", signalName(syscall.Signal(m.Number)), err)
	}
	return nil
}

// stream sends data as far as the host's window allows, waiting for more of it
// until stop.
func (s *server) stream(t *task, kind wire.Type, data []byte, stop <-chan struct{}) bool {
	for len(data) > 0 {
		n := t.allowance.Take(min(len(data), wire.Chunk), s.over, stop)
		if n == 0 || s.write(wire.Frame{Type: kind, Request: t.id, Payload: data[:n]}) != nil {
			return false
		}
		data = data[n:]
	}
	return true
}
