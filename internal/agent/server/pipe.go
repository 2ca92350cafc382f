package server

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

// drainGrace is how long a pipe is listened to after the command has ended,
// when something else that it started still holds the other end.
const drainGrace = 200 * time.Millisecond

// outlet is one output of a command: a pipe, and where its bytes go.
type outlet struct {
	kind wire.Type // 0 throws the output away
	read *os.File
	fd   int // of the command's end
}

// newOutlet makes the pipe. The agent's end does not block, so that it can
// time out; the command's end is an ordinary blocking one.
func newOutlet(kind wire.Type) (*outlet, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, err
	}
	return &outlet{kind, os.NewFile(uintptr(fds[0]), "output"), fds[1]}, nil
}

// inlet makes the pipe for standard input: the command's end and the agent's.
func inlet() (command int, agent *os.File, err error) {
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

// pump moves everything from the pipe to send until its other end is closed
// everywhere. Once the command has ended, all that it had written itself lies
// in the pipe, and that is sent in any case, however slow the receiver; only
// what others still write is cut off after the grace.
func (o *outlet) pump(ended <-chan struct{}, send func([]byte) bool) {
	defer o.read.Close()
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-ended:
			o.read.SetReadDeadline(time.Now().Add(drainGrace))
		case <-over:
		}
	}()
	buffer := make([]byte, wire.Chunk)
	for {
		n, err := o.read.Read(buffer)
		if n > 0 && !send(buffer[:n]) {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			o.rest(buffer, send)
			return
		}
		if err != nil {
			return
		}
	}
}

// rest sends what lies in the pipe at this moment.
func (o *outlet) rest(buffer []byte, send func([]byte) bool) {
	raw, err := o.read.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
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
