package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// devicePatience is how long a device may take to appear. An emulated machine
// on a busy host is slow; one that lacks the device never shows it.
const devicePatience = 30 * time.Second

// news is the kernel telling that devices come and go.
type news struct {
	socket int
	failed []string // modules that could not be loaded
}

func listen() (*news, error) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err == nil {
		err = unix.Bind(s, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1})
	}
	if err != nil {
		return nil, fmt.Errorf("listening to the kernel's device events: %w", err)
	}
	return &news{socket: s}, nil
}

func (n *news) close() { unix.Close(n.socket) }

// until checks at every event, and now and then without one, since not every
// change is announced.
func (n *news) until(what string, so func() bool) error {
	const unannounced = 5 * time.Millisecond
	buffer := make([]byte, 8<<10)
	for deadline := time.Now().Add(devicePatience); !so(); {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not appear within %s%s", what, devicePatience, n.hints())
		}
		unix.Poll([]unix.PollFd{{Fd: int32(n.socket), Events: unix.POLLIN}}, int(unannounced.Milliseconds()))
		for {
			if _, err := unix.Read(n.socket, buffer); err != nil {
				break
			}
		}
	}
	return nil
}

// waitFor waits for a device file.
func (n *news) waitFor(device string) error {
	return n.until("the device "+device, func() bool { _, err := os.Stat(device); return err == nil })
}

// hints is what helps to see why a device is not there.
func (n *news) hints() string {
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
	text := fmt.Sprintf("; there are: virtio devices %s, disks %s, network interfaces %s, serial ports %s",
		names("/sys/bus/virtio/devices/*"), names("/sys/class/block/*"), names("/sys/class/net/*"), names("/sys/class/virtio-ports/*"))
	if len(n.failed) > 0 {
		text += "; modules that could not be loaded: " + strings.Join(n.failed, ", ")
	}
	return text
}
