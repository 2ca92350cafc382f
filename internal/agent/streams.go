package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
	"tare/internal/base/crash"
)

// relayRange is how many request numbers belong to each client of an agent.
const relayRange = 1 << 28

// maxRelayed is how many requests of a remote client can have full windows at once.
const maxRelayed = 256

// relay is a second, remote client of the same agent.
type relay struct {
	first uint32
	queue *wire.Inbox // frames for the remote client
}

func (r *relay) owns(request uint32) bool { return request > r.first }

// Relay proxies the protocol to a remote client at the other end of a stream.
// The remote client gets the agent's Hello with a range of request numbers, and
// its requests are multiplexed with this client's. Relay returns when the stream
// or the agent's connection ends, and closes the stream. A client can be relayed
// once.
func (c *Client) Relay(stream io.ReadWriteCloser) error {
	defer stream.Close()
	r := &relay{queue: wire.NewInbox(maxRelayed)}
	c.mu.Lock()
	r.first = c.hello.First + relayRange
	twice := c.relay != nil
	if !twice {
		c.relay = r
	}
	c.mu.Unlock()
	if twice {
		return errors.New("the agent is already relayed to another client")
	}
	hello := c.hello
	hello.First = r.first
	first, err := wire.JSON(wire.TypeHello, 0, hello)
	if err != nil {
		return err
	}
	writer := wire.NewWriter(stream)
	if err := errors.Join(writer.Preamble(), writer.Write(first)); err != nil {
		return fmt.Errorf("relaying the agent: %w", err)
	}
	done := make(chan struct{})
	forwarded := make(chan error, 1)
	crash.Go(func() {
		forwarded <- c.forward(wire.NewReader(stream), r)
		close(done)
	})
	for {
		f, ok := r.queue.Take(done, c.gone)
		if !ok {
			break
		}
		if err := writer.Write(f); err != nil {
			stream.Close()
			<-done
			return fmt.Errorf("relaying the agent: %w", err)
		}
	}
	if err := c.Err(); err != nil {
		stream.Close()
		<-done
		return err
	}
	return <-forwarded
}

// forward sends the remote client's frames to the agent until its stream ends.
func (c *Client) forward(reader *wire.Reader, r *relay) error {
	for {
		f, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("relaying the agent: %w", err)
		}
		if !r.owns(f.Request) {
			return fmt.Errorf("relaying the agent: request %d is outside the remote client's range", f.Request)
		}
		if err := c.send(nil, f); err != nil {
			return err
		}
	}
}

// second is a second stream to the agent, past the processes that the first one
// passes through. It takes all requests except the commands that are to stay attached
// to the first. All methods do without a receiver: there is then one stream.
type second struct {
	stream io.ReadWriteCloser
	out    chan wire.Frame // to the goroutine that writes

	mu       sync.Mutex
	attached map[uint32]bool // requests on the first stream
	ended    [2]bool         // whether the first and the second stream have ended
}

// takes says whether a frame is sent over the second stream. The reply to Shutdown
// follows the last output of attached commands.
func (s *second) takes(f wire.Frame) bool {
	if s == nil || f.Type == wire.TypeShutdown {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var start wire.Start
	if f.Type == wire.TypeStart && f.Decode(&start) == nil && start.Attached {
		s.attached[f.Request] = true
	}
	return !s.attached[f.Request]
}

// waits says whether the connection goes on until the other stream has ended too, which
// may still have frames. If the first one ends unexpectedly, what it passes through is
// gone, and the agent may still live.
func (s *second) waits(isSecond, expected bool) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if isSecond {
		s.ended[1] = true
		return !s.ended[0]
	}
	s.ended[0] = true
	return expected && !s.ended[1]
}

// done is called with the last frame of a request.
func (s *second) done(request uint32) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.attached, request)
}

// Shortcut asks the agent for a socket, duplicates it from the agent's process, and from
// then on sends all requests over it, except commands that are Attached. After an error
// the first stream is used as before, unless the connection has ended. Shortcut is called
// before other requests.
func (c *Client) Shortcut(ctx context.Context, pidfd int) error {
	socket, err := ask[wire.Socket](ctx, c, wire.TypeSocket, struct{}{})
	if err != nil {
		return fmt.Errorf("asking the agent for a socket: %w", err)
	}
	stream, err := duplicate(pidfd, socket)
	if err != nil {
		return fmt.Errorf("duplicating the agent's socket: %w", err)
	}
	s := &second{stream: stream, out: make(chan wire.Frame), attached: map[uint32]bool{}}
	c.second.Store(s)
	crash.Go(func() { c.read(wire.NewReader(stream), s) })
	crash.Go(func() { c.write(stream, s.out) })
	if c.Err() != nil {
		stream.Close() // end may have come before
	}
	_, err = c.Clock(ctx) // by the first request the agent knows that the socket was duplicated
	return err
}

var errOtherFile = errors.New("the process has another file with its number")

// duplicate takes a socket from a process. The number is what the agent says: unless it
// is a socket with that inode, the process is not the agent's own, as with a sandbox
// whose processes have files that the host does not see.
func duplicate(pidfd int, socket wire.Socket) (*os.File, error) {
	fd, err := unix.PidfdGetfd(pidfd, socket.FD, 0)
	if err != nil {
		return nil, err
	}
	var info unix.Stat_t
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err == nil {
		err = unix.Fstat(fd, &info)
	}
	if err == nil && (domain != unix.AF_UNIX || info.Ino != socket.Inode) || errors.Is(err, unix.ENOTSOCK) {
		err = errOtherFile
	}
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that Close ends a read
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "agent"), nil
}
