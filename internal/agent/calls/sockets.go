package calls

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

var ofSockets = []Kind{
	{"accept", accept},
	{"sockopt", option},
	{"udp-1", through(datagrams, 1)},
	{"udp-1400", through(datagrams, 1400)},
	{"tcp-1", through(connection, 1)},
	{"tcp-64k", through(connection, largest)},
	{"tcp-switch", handing(connection)},
}

// option sets an option of a TCP socket.
func option() (func(int) error, error) {
	fd, _, err := bound(unix.SOCK_STREAM)
	on := new(int32)
	*on = 1
	return both(err, func() error {
		_, err := raw5(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, uintptr(unsafe.Pointer(on)), unsafe.Sizeof(*on))
		return err
	})
}

var loopback = [4]byte{127, 0, 0, 1}

// bound is a socket at a free port of the loopback.
func bound(kind int) (fd int, address unix.Sockaddr, err error) {
	if fd, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, nil, err
	}
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback}); err != nil {
		return 0, nil, err
	}
	address, err = unix.Getsockname(fd)
	return fd, address, err
}

// datagrams are two sockets, of which the first sends to the second.
func datagrams() (ends [2]int, err error) {
	receives, address, err := bound(unix.SOCK_DGRAM)
	if err != nil {
		return ends, err
	}
	sends, _, err := bound(unix.SOCK_DGRAM)
	if err == nil {
		err = unix.Connect(sends, address)
	}
	return [2]int{sends, receives}, err
}

// listening is a socket that accepts connections.
func listening() (fd int, address unix.Sockaddr, err error) {
	if fd, address, err = bound(unix.SOCK_STREAM); err == nil {
		err = unix.Listen(fd, 16)
	}
	return fd, address, err
}

// accepted connects to a socket that listens, in the same thread, and accepts that.
func accepted(listens int, address unix.Sockaddr) (ends [2]int, err error) {
	asks, err := connected(address)
	if err != nil {
		return ends, err
	}
	accepts, err := raw5(unix.SYS_ACCEPT4, uintptr(listens), 0, 0, unix.SOCK_CLOEXEC, 0)
	return [2]int{asks, int(accepts)}, err
}

var atOnce = &unix.Linger{Onoff: 1}

// reset closes a connection by a reset, since the ports of many that wait for their end would not
// suffice.
func reset(fd int) error {
	_, err := raw5(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_LINGER, uintptr(unsafe.Pointer(atOnce)), unsafe.Sizeof(*atOnce))
	if err == nil {
		_, err = raw(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	}
	return err
}

// connection is one of TCP, with buffers for the largest write.
func connection() (ends [2]int, err error) {
	listens, address, err := listening()
	if err != nil {
		return ends, err
	}
	if ends, err = accepted(listens, address); err != nil {
		return ends, err
	}
	for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		for _, fd := range ends {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 8*largest); err != nil {
				return ends, err
			}
		}
	}
	return ends, unix.SetsockoptInt(ends[0], unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// accept opens a connection, accepts it and closes both ends: socket, connect, accept, and
// two of setsockopt and close.
func accept() (func(int) error, error) {
	listens, address, err := listening()
	return both(err, func() error {
		ends, err := accepted(listens, address)
		for _, fd := range ends {
			if err == nil {
				err = reset(fd)
			}
		}
		return err
	})
}
