package calls

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// outside are kinds of exchanges with a program at the other end of a network: Answer. Who asks
// is outside of the environment, or in another instance of it.
var outside = []struct {
	name string
	size int // of a request; 0 is a connection
}{{"outside-1", 1}, {"outside-64k", largest}, {"outside-connect", 0}, {"apart-1", 1}, {"apart-64k", largest}, {"apart-connect", 0}}

// Outside are the names of all kinds of exchanges.
func Outside() (names []string) {
	for _, k := range outside {
		names = append(names, k.name)
	}
	return names
}

// at reads an address of IPv4 with its port.
func at(address string) (unix.Sockaddr, error) {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().Is4() {
		return nil, fmt.Errorf("%q is not an address and a port, such as 10.0.0.2:13381", address)
	}
	return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}, nil
}

// Answer accepts connections at an address, one after another, until it fails. The first four
// bytes of a connection are the size of its requests; each gets a byte.
func Answer(address string) error {
	where, err := at(address)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = unix.Bind(fd, where)
	}
	if err == nil {
		err = unix.Listen(fd, 128)
	}
	buffer := make([]byte, largest)
	for err == nil {
		var connection uintptr
		if connection, err = raw5(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_CLOEXEC, 0); err == nil {
			serve(int(connection), buffer)
			_, err = raw(unix.SYS_CLOSE, connection, 0, 0)
		} else if errors.Is(err, unix.ECONNABORTED) {
			err = nil
		}
	}
	return fmt.Errorf("answering at %s: %w", address, err)
}

// serve answers requests until the other end closes.
func serve(connection int, buffer []byte) {
	_ = unix.SetsockoptInt(connection, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	header := buffer[:4]
	if filled(connection, header) != nil {
		return
	}
	size := binary.LittleEndian.Uint32(header)
	if size == 0 || int(size) > len(buffer) {
		return
	}
	for filled(connection, buffer[:size]) == nil && whole(unix.SYS_WRITE, connection, buffer[:1]) == nil {
	}
}

// filled reads a buffer whole.
func filled(fd int, buffer []byte) error {
	for len(buffer) > 0 {
		got, err := raw(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)))
		switch {
		case err != nil:
			return err
		case got == 0:
			return unix.ECONNRESET
		default:
			buffer = buffer[got:]
		}
	}
	return nil
}

// Ask does exchanges of a kind with Answer for that long.
func Ask(name string, length time.Duration, address string) (Count, error) {
	k := slices.Index(Outside(), name)
	if k < 0 {
		return Count{}, fmt.Errorf("%q is not a kind of exchange (known: %s)", name, strings.Join(Outside(), ", "))
	}
	where, err := at(address)
	if err != nil {
		return Count{}, err
	}
	return measure(Kind{name, func() (func(int) error, error) {
		if outside[k].size == 0 {
			return loop(func() error { return connectTo(where) })
		}
		return exchange(where, outside[k].size)
	}}, length)
}

// connectTo makes a connection, and closes it.
func connectTo(where unix.Sockaddr) error {
	fd, err := connected(where)
	if err == nil {
		err = reset(fd)
	}
	return err
}

// exchange sends requests of a size, each after the answer to the one before.
func exchange(where unix.Sockaddr, size int) (func(int) error, error) {
	fd, err := connected(where)
	if err != nil {
		return nil, err
	}
	request, answer := make([]byte, size), make([]byte, 4)
	binary.LittleEndian.PutUint32(answer, uint32(size))
	if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), whole(unix.SYS_WRITE, fd, answer)); err != nil {
		return nil, err
	}
	return loop(func() error {
		for left := request; len(left) > 0; {
			sent, err := raw(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&left[0])), uintptr(len(left)))
			if err != nil {
				return err
			}
			left = left[sent:]
		}
		return filled(fd, answer[:1])
	})
}

// connected asks for a connection.
func connected(where unix.Sockaddr) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = unix.Connect(fd, where); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}
