package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

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
