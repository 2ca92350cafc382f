package sample

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// taskstats asks the kernel for the context switches of a process with all its
// threads, also of those that ended, in one round trip: /proc has them by thread
// alone, and forgets a thread with its end. It needs CAP_NET_ADMIN and the
// kernel's own namespace of processes. It is not safe for concurrent use.
type taskstats struct {
	socket   int
	request  []byte
	response []byte
}

// What the messages consist of; the names are the kernel's.
const (
	genlHeader     = unix.NLMSG_HDRLEN + unix.GENL_HDRLEN
	taskstatsGet   = 1                                               // TASKSTATS_CMD_GET
	attributeTGID  = 2                                               // TASKSTATS_CMD_ATTR_TGID
	aggregateTGID  = 5                                               // TASKSTATS_TYPE_AGGR_TGID
	statistics     = 3                                               // TASKSTATS_TYPE_STATS
	offsetSwitches = int(unsafe.Offsetof(unix.Taskstats{}.Nvcsw))    // and Nivcsw behind it
	offsetTime     = int(unsafe.Offsetof(unix.Taskstats{}.Ac_utime)) // and Ac_stime
)

func openTaskstats() (*taskstats, error) {
	t := &taskstats{response: make([]byte, 4096)}
	var err error
	if t.socket, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC); err != nil {
		return nil, fmt.Errorf("a generic netlink socket: %w", err)
	}
	if err := unix.Bind(t.socket, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		t.close()
		return nil, fmt.Errorf("a generic netlink socket: %w", err)
	}
	_ = unix.SetsockoptTimeval(t.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	name := append([]byte("TASKSTATS"), 0)
	t.request = message(unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, unix.CTRL_ATTR_FAMILY_NAME, name)
	answer, err := t.ask()
	if err != nil {
		t.close()
		return nil, fmt.Errorf("looking up the kernel's task statistics: %w", err)
	}
	id := attribute(answer, unix.CTRL_ATTR_FAMILY_ID)
	if len(id) < 2 {
		t.close()
		return nil, errors.New("looking up the kernel's task statistics: it has none")
	}
	t.request = message(binary.NativeEndian.Uint16(id), taskstatsGet, attributeTGID, make([]byte, 4))
	if _, _, err := t.switches(unix.Getpid()); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// switches of a process so far, voluntary or not, and its processor time in µs
// as the kernel's ticks sampled it. Where neither has grown since, no thread of
// it has run.
func (t *taskstats) switches(pid int) (count float64, ran uint64, err error) {
	binary.NativeEndian.PutUint32(t.request[len(t.request)-4:], uint32(pid))
	answer, err := t.ask()
	if err != nil {
		return 0, 0, err
	}
	of := attribute(attribute(answer, aggregateTGID), statistics)
	if len(of) < offsetSwitches+16 {
		return 0, 0, errors.New("the kernel's task statistics lack context switches")
	}
	count = float64(binary.NativeEndian.Uint64(of[offsetSwitches:]) + binary.NativeEndian.Uint64(of[offsetSwitches+8:]))
	return count, binary.NativeEndian.Uint64(of[offsetTime:]) + binary.NativeEndian.Uint64(of[offsetTime+8:]), nil
}

// ask sends the request and returns the attributes of the answer.
func (t *taskstats) ask() ([]byte, error) {
	if _, err := unix.Write(t.socket, t.request); err != nil {
		return nil, err
	}
	n, err := unix.Read(t.socket, t.response)
	if err != nil {
		return nil, err
	}
	answer := t.response[:n]
	if n < genlHeader {
		return nil, errors.New("the answer is too short")
	}
	if kind := binary.NativeEndian.Uint16(answer[4:]); kind == unix.NLMSG_ERROR {
		if code := int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); code != 0 {
			return nil, unix.Errno(-code)
		}
	}
	return answer[genlHeader:], nil
}

func (t *taskstats) close() { unix.Close(t.socket) }

// message is a request with one attribute.
func message(family uint16, command, kind int, value []byte) []byte {
	padded := (len(value) + 3) &^ 3
	m := make([]byte, genlHeader+unix.NLA_HDRLEN+padded)
	order := binary.NativeEndian
	order.PutUint32(m, uint32(len(m)))
	order.PutUint16(m[4:], family)
	order.PutUint16(m[6:], unix.NLM_F_REQUEST)
	m[unix.NLMSG_HDRLEN], m[unix.NLMSG_HDRLEN+1] = byte(command), 1
	order.PutUint16(m[genlHeader:], uint16(unix.NLA_HDRLEN+len(value)))
	order.PutUint16(m[genlHeader+2:], uint16(kind))
	copy(m[genlHeader+unix.NLA_HDRLEN:], value)
	return m
}

// attribute finds one by its kind.
func attribute(list []byte, kind uint16) []byte {
	for len(list) >= unix.NLA_HDRLEN {
		size := int(binary.NativeEndian.Uint16(list))
		if size < unix.NLA_HDRLEN || size > len(list) {
			return nil
		}
		if binary.NativeEndian.Uint16(list[2:])&^uint16(unix.NLA_F_NESTED) == kind {
			return list[unix.NLA_HDRLEN:size]
		}
		list = list[min((size+3)&^3, len(list)):]
	}
	return nil
}
