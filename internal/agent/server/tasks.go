package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

// start runs a command to its end. The Exit is returned only when all of its
// output was sent.
func (s *server) start(t *task, m wire.Start) (wire.Exit, error) {
	p, err := prepare(m)
	if err != nil {
		return wire.Exit{}, err
	}
	ends, err := s.connect(m)
	if err != nil {
		return wire.Exit{}, fmt.Errorf("starting %s: %w", m.Argv[0], err)
	}
	p.attr.Files = ends.files
	t.mu.Lock()
	child, err := s.children.start(p.path, p.argv, &p.attr, m.CPUs)
	t.child = child
	given := t.ctx.Err() != nil // cancelled before it ran
	t.mu.Unlock()
	ends.closeCommand()
	if err != nil {
		ends.closeAgent()
		if _, there := os.Stat(p.path); errors.Is(err, unix.ENOENT) && there == nil {
			err = fmt.Errorf("the file is there, its interpreter or loader is not: %w", err)
		}
		return wire.Exit{}, fmt.Errorf("starting %s: %w", m.Argv[0], err)
	}
	if given {
		s.children.signal(child, unix.SIGKILL)
	}
	var timedOut atomic.Bool
	if m.Timeout > 0 {
		timer := time.AfterFunc(m.Timeout, func() {
			if s.children.signal(child, unix.SIGKILL) == nil {
				timedOut.Store(true)
			}
		})
		defer timer.Stop()
	}
	s.send(wire.TypeStarted, t.id, wire.Started{PID: child.pid})
	if ends.stdin != nil {
		go s.feed(t, ends.stdin, child)
	}
	var pumps sync.WaitGroup
	for _, o := range ends.outlets {
		pumps.Go(func() {
			o.pump(child.ended, func(b []byte) bool {
				return o.kind == 0 || s.stream(t, o.kind, b, nil)
			})
		})
	}
	<-child.ended
	pumps.Wait()
	exit := child.exit
	exit.TimedOut = timedOut.Load()
	return exit, nil
}

// ends are a command's three standard files, from both sides.
type ends struct {
	files   []uintptr // 0, 1 and 2 of the command
	toClose []int
	stdin   *os.File
	outlets []*outlet
}

func (e *ends) closeCommand() {
	for _, fd := range e.toClose {
		unix.Close(fd)
	}
	e.toClose = nil
}

func (e *ends) closeAgent() {
	if e.stdin != nil {
		e.stdin.Close()
	}
	for _, o := range e.outlets {
		o.read.Close()
	}
}

func (s *server) connect(m wire.Start) (e *ends, err error) {
	e = &ends{}
	defer func() {
		if err != nil {
			e.closeCommand()
			e.closeAgent()
		}
	}()
	var in int
	if m.Stdin {
		in, e.stdin, err = inlet()
	} else {
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
		o, err := newOutlet(kind)
		if err != nil {
			return e, fmt.Errorf("making a pipe for its output: %w", err)
		}
		e.outlets = append(e.outlets, o)
		e.toClose = append(e.toClose, o.fd)
		e.files = append(e.files, uintptr(o.fd))
	}
	return e, nil
}

// feed writes standard input as it comes. A command that does not read it, or
// ends early, is none of the host's concern; the host stops at the exit.
func (s *server) feed(t *task, to *os.File, child *child) {
	defer to.Close()
	// A child that ends while its own children keep the pipe full.
	go func() { <-child.ended; to.SetWriteDeadline(time.Now()) }()
	s.receive(t, child.ended, func(b []byte) error {
		_, err := to.Write(b)
		return err
	})
}

// errAbandoned ends a transfer that nobody wants any more.
var errAbandoned = errors.New("the request was given up")

// receive hands on the data of a request up to its end, and grants more as it
// goes.
func (s *server) receive(t *task, stop <-chan struct{}, use func([]byte) error) error {
	var consumed wire.ReceiveWindow
	for {
		f, ok := t.inbox.Take(stop, s.over)
		switch {
		case !ok:
			return errAbandoned
		case f.Type == wire.TypeEnd:
			return nil
		}
		if err := use(f.Payload); err != nil {
			return err
		}
		if n := consumed.Add(len(f.Payload)); n > 0 {
			if err := s.write(wire.Credit(t.id, n)); err != nil {
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
			return errAbandoned
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

func (s *server) writeFile(t *task, m wire.Write) (err error) {
	mode := os.FileMode(m.Mode & 0o777)
	if m.Mode == 0 {
		mode = 0o644
	}
	if err := os.MkdirAll(filepath.Dir(m.Path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(m.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		// The mode that was asked for, whatever the umask and whatever was there.
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	return s.receive(t, t.ctx.Done(), func(b []byte) error {
		_, err := f.Write(b)
		return err
	})
}
