// Package virtnet connects the instances of one environment. Loopback assigns
// addresses of the host's loopback to those that share the host's network; Bridge
// has a port for each of the others.
//
// Nothing outlives the process, even if it is killed: addresses are claimed by
// sockets, and a bridge is in a network namespace that only this process holds.
//
// It must not know environments or instances.
package virtnet

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// claim holds a name against everybody who shares this machine's network, until
// it is closed or the process ends. Sockets of this kind are kept by the kernel
// and have no file; they belong to the network namespace, as addresses do.
func claim(name string) (net.Conn, error) {
	held, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@tare/" + name, Net: "unixgram"})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, errTaken
	}
	if err != nil {
		return nil, fmt.Errorf("claiming %s: %w", name, err)
	}
	return held, nil
}

var errTaken = errors.New("somebody has it")
