// Package netlink encodes requests to netlink sockets and finds attributes in the
// responses, the latter without allocation: for the agent, which must stay small,
// and for requests that are made many times per second.
//
// It must not know the meaning of requests.
package netlink

import (
	"encoding/binary"
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

var order = binary.NativeEndian

// kindMask leaves the number of an attribute, without the flags above it.
const kindMask = 1<<14 - 1

// padded is the length up to which a part is filled, so that the next one is
// aligned.
func padded(n int) int { return (n + unix.NLA_ALIGNTO - 1) &^ (unix.NLA_ALIGNTO - 1) }

// Message is a request of a kind: a header, and what follows it.
func Message(kind, flags uint16, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	m := order.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	m = order.AppendUint16(m, kind)
	m = order.AppendUint16(m, unix.NLM_F_REQUEST|flags)
	m = append(m, make([]byte, unix.NLMSG_HDRLEN-len(m))...) // sequence and port
	return append(m, body...)
}

// Attribute is one of a request.
func Attribute(kind uint16, value []byte) []byte {
	a := order.AppendUint16(nil, uint16(unix.NLA_HDRLEN+len(value)))
	a = order.AppendUint16(a, kind)
	a = append(a, value...)
	return append(a, make([]byte, padded(len(a))-len(a))...)
}

// Find is the value of an attribute in a list of them, the whole of it where they
// are nested; nil where it is not there.
func Find(list []byte, kind uint16) []byte {
	for len(list) >= unix.NLA_HDRLEN {
		size := int(order.Uint16(list))
		if size < unix.NLA_HDRLEN || size > len(list) {
			return nil
		}
		if order.Uint16(list[2:])&kindMask == kind {
			return list[unix.NLA_HDRLEN:size]
		}
		list = list[min(padded(size), len(list)):]
	}
	return nil
}

// Body is what follows the header of an answer, or the error that the kernel
// answered with.
func Body(answer []byte) ([]byte, error) {
	if len(answer) < unix.NLMSG_HDRLEN {
		return nil, errors.New("the kernel's answer is too short")
	}
	body := answer[unix.NLMSG_HDRLEN:]
	if order.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return body, nil
	}
	if len(body) < 4 {
		return nil, errors.New("the kernel's answer is too short")
	}
	if code := int32(order.Uint32(body)); code != 0 {
		return nil, unix.Errno(-code)
	}
	return body, nil
}
