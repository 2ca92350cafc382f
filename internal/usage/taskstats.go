package usage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/linux/netlink"
)

// taskstats reads the context switches of a process with all its threads, exited
// ones included, in one round trip over netlink. /proc has them per thread only,
// and not those of exited threads. It needs CAP_NET_ADMIN and the initial PID
// namespace. It is not safe for concurrent use.
type taskstats struct {
	socket   int
	request  []byte
	response []byte
}

// Constants of linux/taskstats.h.
const (
	taskstatsGet   = 1                                               // TASKSTATS_CMD_GET
	attributeTGID  = 2                                               // TASKSTATS_CMD_ATTR_TGID
	aggregateTGID  = 5                                               // TASKSTATS_TYPE_AGGR_TGID
	statistics     = 3                                               // TASKSTATS_TYPE_STATS
	offsetSwitches = int(unsafe.Offsetof(unix.Taskstats{}.Nvcsw))    // followed by Nivcsw
	offsetTime     = int(unsafe.Offsetof(unix.Taskstats{}.Ac_utime)) // followed by Ac_stime
)

func openTaskstats() (*taskstats, error) {
	t := &taskstats{response: make([]byte, 4096)}
	var err error
	if t.socket, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC); err != nil {
		return nil, fmt.Errorf("opening a generic netlink socket: %w", err)
	}
	if err := unix.Bind(t.socket, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		t.close()
		return nil, fmt.Errorf("opening a generic netlink socket: %w", err)
	}
	_ = unix.SetsockoptTimeval(t.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	name := append([]byte("TASKSTATS"), 0)
	t.request = newRequest(unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, unix.CTRL_ATTR_FAMILY_NAME, name)
	answer, err := t.call()
	if err != nil {
		t.close()
		return nil, fmt.Errorf("looking up the netlink family TASKSTATS: %w", err)
	}
	id := netlink.Find(answer, unix.CTRL_ATTR_FAMILY_ID)
	if len(id) < 2 {
		t.close()
		return nil, errors.New("looking up the netlink family TASKSTATS: the kernel gives no ID")
	}
	t.request = newRequest(binary.NativeEndian.Uint16(id), taskstatsGet, attributeTGID, make([]byte, 4))
	if _, _, err := t.switches(unix.Getpid()); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// switches returns the context switches of a process, voluntary and not, and its
// CPU time in µs, as sampled by the kernel's ticks. If neither has grown, no
// thread of it has run.
func (t *taskstats) switches(pid int) (count float64, ran uint64, err error) {
	binary.NativeEndian.PutUint32(t.request[len(t.request)-4:], uint32(pid))
	answer, err := t.call()
	if err != nil {
		return 0, 0, err
	}
	of := netlink.Find(netlink.Find(answer, aggregateTGID), statistics)
	if len(of) < offsetSwitches+16 {
		return 0, 0, errors.New("the kernel's taskstats lack context switches")
	}
	count = float64(binary.NativeEndian.Uint64(of[offsetSwitches:]) + binary.NativeEndian.Uint64(of[offsetSwitches+8:]))
	return count, binary.NativeEndian.Uint64(of[offsetTime:]) + binary.NativeEndian.Uint64(of[offsetTime+8:]), nil
}

// call sends the request and returns the attributes of the response.
func (t *taskstats) call() ([]byte, error) {
	if _, err := unix.Write(t.socket, t.request); err != nil {
		return nil, err
	}
	n, err := unix.Read(t.socket, t.response)
	if err != nil {
		return nil, err
	}
	body, err := netlink.Body(t.response[:n])
	if err != nil {
		return nil, err
	}
	return body[min(unix.GENL_HDRLEN, len(body)):], nil
}

func (t *taskstats) close() { unix.Close(t.socket) }

// newRequest returns a generic netlink request with one attribute.
func newRequest(family uint16, command byte, kind uint16, value []byte) []byte {
	return netlink.Message(family, 0, []byte{command, 1, 0, 0}, netlink.Attribute(kind, value))
}
