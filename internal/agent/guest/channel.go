package guest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// openChannel opens the stream to the host.
func openChannel(c Config, uevents *ueventListener) (io.ReadWriter, error) {
	switch {
	case c.VSock != 0 && c.Await:
		return acceptVSock(c.VSock)
	case c.VSock != 0:
		return openVSock(c.VSock)
	}
	port, err := openPort(c.Port, uevents)
	if err == nil && c.Await {
		err = readTime(port)
	}
	return port, err
}

// readTime reads the host's first line, nanoseconds since the epoch, and sets
// the clock, which did not advance while the guest was a snapshot.
func readTime(from io.Reader) error {
	const maxLength = 20
	var line []byte
	for b := make([]byte, 1); len(line) <= maxLength; line = append(line, b[0]) {
		if _, err := io.ReadFull(from, b); err != nil {
			return fmt.Errorf("reading the time from the host: %w", err)
		}
		if b[0] == '\n' {
			break
		}
	}
	now, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return fmt.Errorf("the host's first line %q is not a time: %w", line, err)
	}
	at := unix.NsecToTimespec(now)
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &at); err != nil {
		return fmt.Errorf("setting the clock: %w", err)
	}
	return nil
}

// openPort opens the virtio-serial port with a name. The host listens before the
// machine starts, but the kernel learns of it after the port appears; until then
// a read returns EOF.
func openPort(name string, uevents *ueventListener) (io.ReadWriter, error) {
	var device string
	err := uevents.waitFor(fmt.Sprintf("a virtio-serial port named %q", name), func() bool {
		ports, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, port := range ports {
			if got, err := os.ReadFile(port); err == nil && strings.TrimSpace(string(got)) == name {
				device = "/dev/" + filepath.Base(filepath.Dir(port))
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	if err := uevents.waitForDevice(device); err != nil {
		return nil, err
	}
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the port %s (%s): %w", device, name, err)
	}
	err = uevents.waitFor(fmt.Sprintf("a host at the other end of port %q", name), func() bool {
		state := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}
		_, err := unix.Poll(state, 0)
		return err == nil && state[0].Revents&unix.POLLHUP == 0
	})
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), device), nil
}

func openVSock(port uint32) (io.ReadWriter, error) {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("creating a vsock socket (is its driver loaded?): %w", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: port}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connecting to the host's vsock port %d: %w", port, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("vsock: %w", err)
	}
	return os.NewFile(uintptr(fd), "vsock"), nil
}

// acceptVSock waits until the host connects and sends the time. A connection that ends
// without it only checked whether this guest is up, or was open when the guest was saved:
// the driver ends those, and all that came since, in a restored guest, at a moment of its
// own. So nothing listens while a connection is open.
func acceptVSock(port uint32) (io.ReadWriter, error) {
	for {
		stream, err := acceptOne(port)
		if err != nil {
			return nil, err
		}
		err = readTime(stream)
		if err == nil {
			return stream, nil
		}
		stream.Close()
		if !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.ENOTCONN) {
			return nil, err
		}
	}
}

func acceptOne(port uint32) (*os.File, error) {
	listener, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("creating a vsock socket (is its driver loaded?): %w", err)
	}
	defer unix.Close(listener)
	if err := unix.Bind(listener, &unix.SockaddrVM{CID: unix.VMADDR_CID_ANY, Port: port}); err != nil {
		return nil, fmt.Errorf("binding vsock port %d: %w", port, err)
	}
	if err := unix.Listen(listener, 1); err != nil {
		return nil, fmt.Errorf("listening on vsock port %d: %w", port, err)
	}
	for {
		fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if err == unix.EINTR || err == unix.ECONNABORTED {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("accepting on vsock port %d: %w", port, err)
		}
		if err := unix.SetNonblock(fd, true); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("vsock: %w", err)
		}
		return os.NewFile(uintptr(fd), "vsock"), nil
	}
}

// deviceTimeout bounds the wait for a device. An emulated machine on a busy host
// is slow.
const deviceTimeout = 30 * time.Second

// ueventListener receives the kernel's uevents, which announce devices.
type ueventListener struct {
	socket int
	failed []string // modules that could not be loaded, for error messages
}

func listenUevents() (*ueventListener, error) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err == nil {
		err = unix.Bind(s, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1})
	}
	if err != nil {
		return nil, fmt.Errorf("listening for uevents: %w", err)
	}
	return &ueventListener{socket: s}, nil
}

func (l *ueventListener) close() { unix.Close(l.socket) }

// waitFor waits until a condition holds. It is checked at every uevent, and at
// an interval, since not every change has one.
func (l *ueventListener) waitFor(what string, cond func() bool) error {
	const interval = 5 * time.Millisecond
	buffer := make([]byte, 8<<10)
	for deadline := time.Now().Add(deviceTimeout); !cond(); {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not appear within %s%s", what, deviceTimeout, l.hints())
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(l.socket), Events: unix.POLLIN}}, int(interval.Milliseconds()))
		for {
			if _, err := unix.Read(l.socket, buffer); err != nil {
				break
			}
		}
	}
	return nil
}

// waitForDevice waits for a device file.
func (l *ueventListener) waitForDevice(device string) error {
	return l.waitFor("the device "+device, func() bool { _, err := os.Stat(device); return err == nil })
}

// hints lists the devices that exist, for the error message.
func (l *ueventListener) hints() string {
	names := func(pattern string) string {
		found, _ := filepath.Glob(pattern)
		for i, path := range found {
			found[i] = filepath.Base(path)
		}
		if len(found) == 0 {
			return "none"
		}
		return strings.Join(found, " ")
	}
	text := fmt.Sprintf("; found: virtio devices %s, disks %s, network interfaces %s, serial ports %s",
		names("/sys/bus/virtio/devices/*"), names("/sys/class/block/*"), names("/sys/class/net/*"), names("/sys/class/virtio-ports/*"))
	if len(l.failed) > 0 {
		text += "; modules that could not be loaded: " + strings.Join(l.failed, ", ")
	}
	return text
}
