package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

// start runs a command. It returns the Exit after all output was sent.
func (s *server) start(t *task, m wire.Start) (wire.Exit, error) {
	p, err := prepare(m, s.environment)
	if err != nil {
		return wire.Exit{}, err
	}
	ends, err := s.openStdio(m)
	if err != nil {
		return wire.Exit{}, fmt.Errorf("starting %s: %w", m.Argv[0], err)
	}
	p.attr.Files = ends.files
	t.mu.Lock()
	child, err := s.children.start(p.path, p.argv, &p.attr, m.CPUs)
	t.child = child
	canceled := t.ctx.Err() != nil // before the command ran
	t.mu.Unlock()
	ends.closeCommandEnds()
	if err != nil {
		ends.closeAgentEnds()
		if _, there := os.Stat(p.path); errors.Is(err, unix.ENOENT) && there == nil {
			err = fmt.Errorf("the file exists, its interpreter or loader does not: %w", err)
		}
		return wire.Exit{}, fmt.Errorf("starting %s: %w", m.Argv[0], err)
	}
	if canceled {
		_ = s.children.signal(child, unix.SIGKILL)
	}
	timedOut := func() bool { return false }
	if m.Timeout > 0 {
		killed := make(chan bool, 1)
		timer := time.AfterFunc(m.Timeout, func() { killed <- s.children.signal(child, unix.SIGKILL) == nil })
		timedOut = func() bool { return !timer.Stop() && <-killed } // the exit can be known before the signal has returned
	}
	_ = s.send(t.out, wire.TypeStarted, t.id, wire.Started{PID: child.pid})
	if ends.stdin != nil {
		go s.feed(t, ends.stdin, child)
	}
	var pumps sync.WaitGroup
	for _, o := range ends.outputs {
		pumps.Go(func() {
			o.pump(child.ended, func(b []byte) bool {
				return o.kind == 0 || s.stream(t, o.kind, b, nil)
			})
		})
	}
	<-child.ended
	pumps.Wait()
	exit := child.exit
	exit.TimedOut = timedOut()
	return exit, nil
}

// stdioPipes are both ends of a command's standard input, output and error.
type stdioPipes struct {
	files   []uintptr // the command's descriptors 0, 1 and 2
	toClose []int
	stdin   *os.File
	outputs []*outputPipe
}

func (e *stdioPipes) closeCommandEnds() {
	for _, fd := range e.toClose {
		unix.Close(fd)
	}
	e.toClose = nil
}

func (e *stdioPipes) closeAgentEnds() {
	if e.stdin != nil {
		e.stdin.Close()
	}
	for _, o := range e.outputs {
		o.read.Close()
	}
}

func (s *server) openStdio(m wire.Start) (e *stdioPipes, err error) {
	e = &stdioPipes{}
	defer func() {
		if err != nil {
			e.closeCommandEnds()
			e.closeAgentEnds()
		}
	}()
	var in int
	switch {
	case m.Stdin:
		e.stdin, in, err = newPipe(1)
	case m.Input != "":
		in, err = openInput(m.Input)
	default:
		in, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return e, fmt.Errorf("opening its standard input: %w", err)
	}
	e.toClose = append(e.toClose, in)
	e.files = append(e.files, uintptr(in))
	kinds := []wire.Type{0, 0}
	if m.Stdout {
		kinds[0] = wire.TypeStdout
	}
	if m.Stderr {
		kinds[1] = wire.TypeStderr
	}
	for i, kind := range kinds {
		if i == 1 && m.Joined {
			e.files = append(e.files, e.files[1])
			break
		}
		o, err := newOutputPipe(kind)
		if err != nil {
			return e, fmt.Errorf("creating a pipe for its output: %w", err)
		}
		e.outputs = append(e.outputs, o)
		e.toClose = append(e.toClose, o.fd)
		e.files = append(e.files, uintptr(o.fd))
	}
	return e, nil
}

// openInput opens a regular file; one that is a pipe would have to be waited for.
func openInput(path string) (int, error) {
	in, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var is unix.Stat_t
	if err = unix.Fstat(in, &is); err == nil && is.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		unix.Close(in)
		return 0, err
	}
	return in, nil
}

// feed writes standard input to the command. That a command does not read it, or
// exits early, is not an error; the host stops sending at the exit.
func (s *server) feed(t *task, to *os.File, child *child) {
	defer to.Close()
	// Unblocks the write if the command exits while its children keep the pipe full.
	go func() { <-child.ended; _ = to.SetWriteDeadline(time.Now()) }()
	_ = s.receive(t, child.ended, func(b []byte) error {
		_, err := to.Write(b)
		return err
	})
}

// errCanceled is the error of a transfer that the host canceled.
var errCanceled = errors.New("the request was canceled")

// receive passes the data of a request to use, up to its End frame, and sends
// credit for what was consumed.
func (s *server) receive(t *task, stop <-chan struct{}, use func([]byte) error) error {
	var consumed wire.ReceiveWindow
	for {
		f, ok := t.inbox.Take(stop, s.done)
		switch {
		case !ok:
			return errCanceled
		case f.Type == wire.TypeEnd:
			return nil
		}
		if err := use(f.Payload); err != nil {
			return err
		}
		if n := consumed.Add(len(f.Payload)); n > 0 {
			if err := s.write(t.out, wire.Credit(t.id, n)); err != nil {
				return err
			}
		}
	}
}

func (s *server) readFile(t *task, m wire.Read) error {
	f, err := os.Open(m.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer := make([]byte, wire.Chunk)
	for left := m.Limit; left > 0; {
		n, err := f.Read(buffer[:min(left, int64(len(buffer)))])
		if t.ctx.Err() != nil || !s.stream(t, wire.TypeData, buffer[:n], t.ctx.Done()) {
			return errCanceled
		}
		left -= int64(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drainTimeout is how long an output pipe is read after the command has exited,
// while one of its children still holds the write end.
const drainTimeout = 200 * time.Millisecond

// outputPipe is one output of a command, and the type of the frames for it.
type outputPipe struct {
	kind wire.Type // 0 discards the output
	read *os.File
	fd   int // the command's end
}

func newOutputPipe(kind wire.Type) (*outputPipe, error) {
	agents, commands, err := newPipe(0)
	return &outputPipe{kind, agents, commands}, err
}

// newPipe creates a pipe. The agent's end, 0 to read or 1 to write, is non-blocking, so
// that it can time out; the command's end blocks.
func newPipe(end int) (agents *os.File, commands int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, 0, err
	}
	if err := unix.SetNonblock(fds[end], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, 0, err
	}
	return os.NewFile(uintptr(fds[end]), "pipe of a command"), fds[1-end], nil
}

// pump passes data from the pipe to send until all write ends are closed. When
// the command has exited, all that it wrote is in the pipe and is sent, however
// slow the receiver is. Output of processes that it left behind is read for
// drainTimeout more.
func (o *outputPipe) pump(ended <-chan struct{}, send func([]byte) bool) {
	defer o.read.Close()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ended:
			_ = o.read.SetReadDeadline(time.Now().Add(drainTimeout))
		case <-done:
		}
	}()
	buffer := make([]byte, wire.Chunk)
	for {
		n, err := o.read.Read(buffer)
		if n > 0 && !send(buffer[:n]) {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			o.drain(buffer, send)
			return
		}
		if err != nil {
			return
		}
	}
}

// drain sends what the pipe holds now.
func (o *outputPipe) drain(buffer []byte, send func([]byte) bool) {
	raw, err := o.read.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		for err == nil && left > 0 {
			var n int
			n, err = unix.Read(int(fd), buffer[:min(left, len(buffer))])
			if n <= 0 || !send(buffer[:n]) {
				return
			}
			left -= n
		}
	})
}
