// Package server is the agent's side of the protocol: it runs commands in the
// instance, streams their output, probes servers, and reads and writes files.
//
// It waits for all children of its process, so it needs a process of its own.
// The host's side must not import it, and it must not know which environment it
// runs in. It keeps its imports few, since they add to the agent's size.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
	"tare/internal/linux/cgroup"
)

// Options configure Serve.
type Options struct {
	// Born is the monotonic time of the program's first instruction.
	Born time.Duration
	// Stop, when closed, ends serving as the end of the stream does. A terminating
	// signal closes it.
	Stop <-chan struct{}
	// Environment is what commands start with; nil is the agent's own.
	Environment []string
}

var errStopped = errors.New("the agent was told to stop")

// server handles the requests of one stream.
type server struct {
	children    *children
	environment []string // that commands start with
	out         *wire.Writer
	done        chan struct{} // closed when the stream is unusable
	doneOnce    sync.Once
	// stopped: somebody else ends the agent, and commands end only for that.
	stopped atomic.Bool

	mu     sync.Mutex
	tasks  map[uint32]*task
	memory string // directory of files in memory; "" before the first one
}

// task is one pending request.
type task struct {
	id         uint32
	out        *wire.Writer // of the stream that the request came by
	inbox      *wire.Inbox
	sendWindow *wire.SendWindow
	ctx        context.Context
	cancel     context.CancelFunc
	command    bool          // it is a Start request
	answered   chan struct{} // closed when its last frame was sent

	mu    sync.Mutex
	child *child // of a Start request, once it runs
}

// Serve sends Hello on the stream and handles requests until the stream ends, a
// Shutdown request, or Stop. All that it started is gone when it returns. After Stop it
// sends nothing more: the host finds out why the instance ended, which is the reason of
// all that ends with it.
func Serve(stream io.ReadWriter, o Options) error {
	s := &server{
		children: newChildren(), environment: o.Environment, out: wire.NewWriter(stream),
		done: make(chan struct{}), tasks: map[uint32]*task{},
	}
	if s.environment == nil {
		s.environment = os.Environ()
	}
	if err := s.sendHello(o); err != nil {
		s.children.close(err)
		return fmt.Errorf("sending hello: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.read(wire.NewReader(stream), s.out) }()
	var err error
	select {
	case err = <-ended:
	case <-o.Stop:
		s.stopped.Store(true)
	case <-s.done:
	}
	s.end()
	left := s.children.killAll()
	s.children.close(left)
	return errors.Join(err, left, s.removeMemory())
}

func (s *server) end() { s.doneOnce.Do(func() { close(s.done) }) }

func (s *server) sendHello(o Options) error {
	var name unix.Utsname
	_ = unix.Uname(&name)
	if err := s.out.Preamble(); err != nil {
		return err
	}
	hello := wire.Hello{
		Protocol: wire.Protocol, PID: os.Getpid(), CPUs: runtime.NumCPU(), Cores: cgroup.ByTopology(cgroup.OwnCores()),
		Kernel: unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:]),
		Uptime: Uptime(), Clock: Monotonic(),
	}
	hello.AgentTime = hello.Clock - o.Born
	return s.send(s.out, wire.TypeHello, 0, hello)
}

func (s *server) send(out *wire.Writer, t wire.Type, request uint32, message any) error {
	f, err := wire.JSON(t, request, message)
	if err != nil {
		return err
	}
	return s.write(out, f)
}

func (s *server) write(out *wire.Writer, f wire.Frame) error {
	if s.stopped.Load() {
		return errStopped
	}
	err := out.Write(f)
	if err != nil {
		s.end()
	}
	return err
}

// read dispatches the frames of one stream; replies go to out. It never writes or
// waits: if both sides read and wrote in one goroutine, they could deadlock.
func (s *server) read(r *wire.Reader, out *wire.Writer) error {
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
				t.sendWindow.Add(n)
			}
		case wire.TypeCancel:
			if t != nil {
				t.abort(s.children)
			}
		case wire.TypeData, wire.TypeEnd:
			if t != nil && !t.inbox.Put(f) {
				return fmt.Errorf("the host exceeded the flow-control window of request %d", f.Request)
			}
		case wire.TypeClock:
			now := Monotonic()                                                // before the goroutine is scheduled
			go s.send(out, wire.TypeReply, f.Request, wire.Clock{Clock: now}) //nolint:errcheck // a stream that fails ends Serve
		default:
			if t != nil {
				return fmt.Errorf("request number %d is already in use", f.Request)
			}
			s.begin(f, out)
		}
	}
}

// begin handles a request in a new goroutine.
func (s *server) begin(f wire.Frame, out *wire.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &task{id: f.Request, out: out, inbox: wire.NewInbox(1), sendWindow: wire.NewSendWindow(), ctx: ctx, cancel: cancel, command: f.Type == wire.TypeStart, answered: make(chan struct{})}
	s.mu.Lock()
	s.tasks[t.id] = t
	s.mu.Unlock()
	go func() {
		last := s.work(t, f)
		cancel()
		_ = s.write(out, last)
		s.mu.Lock()
		delete(s.tasks, t.id)
		s.mu.Unlock()
		close(t.answered)
		if f.Type == wire.TypeShutdown {
			s.end()
		}
	}()
}

// work handles a request and returns the frame that ends it.
func (s *server) work(t *task, f wire.Frame) wire.Frame {
	var reply any = struct{}{}
	answer, err := wire.TypeReply, error(nil)
	switch f.Type {
	case wire.TypeStart:
		answer = wire.TypeExit
		reply, err = decoded(f, func(m wire.Start) (any, error) { return s.start(t, m) })
	case wire.TypeSignal:
		reply, err = decoded(f, func(m wire.Signal) (any, error) { return struct{}{}, s.signal(m) })
	case wire.TypeAwait:
		reply, err = decoded(f, func(m wire.Await) (any, error) {
			elapsed, err := s.await(t.ctx, m)
			return wire.Awaited{Elapsed: elapsed}, err
		})
	case wire.TypeRead:
		answer = wire.TypeEnd
		_, err = decoded(f, func(m wire.Read) (any, error) { return nil, s.readFile(t, m) })
	case wire.TypeWrite:
		reply, err = decoded(f, func(m wire.Write) (any, error) {
			path, err := s.writeFile(t, m)
			return wire.Written{Path: path}, err
		})
	case wire.TypeSocket:
		reply, err = s.socket()
	case wire.TypeShutdown:
		err = errors.Join(s.children.killAll(), s.removeMemory())
		s.awaitExits()
	default:
		err = fmt.Errorf("unknown request type %d", f.Type)
	}
	last := wire.Frame{Type: answer, Request: t.id}
	if err == nil && answer != wire.TypeEnd {
		last.Payload, err = json.Marshal(reply)
	}
	if err != nil {
		message := err.Error()
		failed := wire.Failure{Message: message[:min(len(message), wire.MaxControl/8)]} // a byte can take six in JSON
		var number syscall.Errno
		if errors.As(err, &number) {
			failed.Errno = int(number)
		} else if errors.Is(err, os.ErrNotExist) {
			failed.Errno = int(unix.ENOENT)
		}
		last.Type = wire.TypeError
		last.Payload, _ = json.Marshal(failed) // cannot fail
	}
	return last
}

// decoded answers a request whose frame has a message.
func decoded[M any](f wire.Frame, answer func(M) (any, error)) (any, error) {
	var m M
	if err := f.Decode(&m); err != nil {
		return nil, err
	}
	return answer(m)
}

// exitsTimeout is how long the reply to a Shutdown waits for the exits of commands: a
// host that does not read their output would keep it waiting.
const exitsTimeout = time.Second

// awaitExits returns when the exits of all commands, which are dead, were sent. The
// agent exits after the reply, and what was not sent is lost.
func (s *server) awaitExits() {
	s.mu.Lock()
	tasks := slices.Collect(maps.Values(s.tasks))
	s.mu.Unlock()
	timeout := time.After(exitsTimeout)
	for _, t := range tasks {
		if !t.command {
			continue
		}
		select {
		case <-t.answered:
		case <-timeout:
			return
		}
	}
}

// abort cancels a request: a command is killed, anything else stops.
func (t *task) abort(c *children) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel()
	if t.child != nil {
		_ = c.signal(t.child, unix.SIGKILL)
	}
}

func (s *server) signal(m wire.Signal) error {
	s.mu.Lock()
	t := s.tasks[m.Process]
	s.mu.Unlock()
	if t == nil {
		return fmt.Errorf("sending %s: the command has exited: %w", signalName(syscall.Signal(m.Number)), unix.ESRCH)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.child == nil {
		return fmt.Errorf("sending %s: the command is not running", signalName(syscall.Signal(m.Number)))
	}
	if err := s.children.signal(t.child, syscall.Signal(m.Number)); err != nil {
		return fmt.Errorf("sending %s: %w", signalName(syscall.Signal(m.Number)), err)
	}
	return nil
}

// stream sends data within the send window. It returns false if the stream
// failed or stop was closed.
func (s *server) stream(t *task, kind wire.Type, data []byte, stop <-chan struct{}) bool {
	for len(data) > 0 {
		n := t.sendWindow.Take(min(len(data), wire.Chunk), s.done, stop)
		if n == 0 || s.write(t.out, wire.Frame{Type: kind, Request: t.id, Payload: data[:n]}) != nil {
			return false
		}
		data = data[n:]
	}
	return true
}

// socket makes a pair of connected sockets, serves one of them as a second stream, and
// offers the other to the host, which duplicates it (pidfd_getfd) and so reaches the
// agent without the processes that the first stream passes through.
func (s *server) socket() (wire.Socket, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return wire.Socket{}, fmt.Errorf("making a pair of sockets: %w", err)
	}
	offered := os.NewFile(uintptr(pair[1]), "offered")
	stream := &secondStream{File: os.NewFile(uintptr(pair[0]), "socket"), offered: offered}
	var info unix.Stat_t
	if err := unix.Fstat(pair[1], &info); err != nil {
		stream.Close()
		offered.Close()
		return wire.Socket{}, fmt.Errorf("describing a socket: %w", err)
	}
	go func() {
		defer stream.Close()
		_ = s.read(wire.NewReader(stream), wire.NewWriter(stream))
		s.end()
	}()
	return wire.Socket{FD: pair[1], Inode: info.Ino}, nil
}

// secondStream closes the agent's copy of the host's end at the first data, since the
// host has its own by then, and only then does the stream end when the host's closes.
type secondStream struct {
	*os.File
	once    sync.Once
	offered *os.File
}

func (s *secondStream) Read(p []byte) (int, error) {
	n, err := s.File.Read(p)
	s.once.Do(func() { s.offered.Close() })
	return n, err
}
