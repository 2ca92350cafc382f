package server

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

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
