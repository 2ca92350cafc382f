package server

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

// drainTimeout is how long an output pipe is read after the command has exited,
// while one of its children still holds the write end.
const drainTimeout = 200 * time.Millisecond

// outputPipe is one output of a command, and the type of the frames for it.
type outputPipe struct {
	kind wire.Type // 0 discards the output
	read *os.File
	fd   int // the command's end
}

// newOutputPipe creates the pipe. The agent's end is non-blocking, so that reads
// can time out; the command's end blocks.
func newOutputPipe(kind wire.Type) (*outputPipe, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, err
	}
	return &outputPipe{kind, os.NewFile(uintptr(fds[0]), "output"), fds[1]}, nil
}

// newInputPipe creates the pipe for standard input and returns both ends.
func newInputPipe() (command int, agent *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return 0, nil, err
	}
	if err := unix.SetNonblock(fds[1], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return 0, nil, err
	}
	return fds[0], os.NewFile(uintptr(fds[1]), "input"), nil
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
