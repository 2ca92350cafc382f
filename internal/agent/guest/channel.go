package guest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openChannel opens what the host is at the other end of.
func openChannel(w Words, news *news) (io.ReadWriter, error) {
	if w.VSock != 0 {
		return openVSock(w.VSock)
	}
	return openPort(w.Port, news)
}

// openPort opens the virtio-serial port of a name. The host listens before the
// machine starts; but the kernel learns that only after it has shown the port,
// and until then reading would look like the end of the stream.
func openPort(name string, news *news) (io.ReadWriter, error) {
	var device string
	err := news.until(fmt.Sprintf("a virtio-serial port named %q", name), func() bool {
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
	if err := news.waitFor(device); err != nil {
		return nil, err
	}
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the port %s (%s): %w", device, name, err)
	}
	err = news.until(fmt.Sprintf("a host at the other end of port %q", name), func() bool {
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
		return nil, fmt.Errorf("making a vsock (is its driver loaded?): %w", err)
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
