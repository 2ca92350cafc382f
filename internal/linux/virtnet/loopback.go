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
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// HostAddress is the loopback's own, which no instance gets.
const HostAddress = "127.0.0.1"

// Loopback is the network of instances that share the host's.
type Loopback struct{}

// Path of a packet.
func (Loopback) Path() string { return "the host's loopback" }

// Host is the address by which the instances reach the host.
func (Loopback) Host() string { return HostAddress }

// Close has nothing to remove: the loopback is the host's.
func (Loopback) Close(context.Context) error { return nil }

// LoopbackAddress is an address of the loopback that nobody else on the machine is given
// before it is closed.
type LoopbackAddress struct {
	Address netip.Addr
	held    net.Conn
	close   sync.Once
	end     error
}

// Close gives the address back.
func (s *LoopbackAddress) Close() error {
	s.close.Do(func() { s.end = s.held.Close() })
	return s.end
}

// loopbackAddresses is how many addresses there are: 127.213.0.1 to 127.213.255.254.
const loopbackAddresses = 1<<16 - 2

// ClaimLoopback takes a free address of a network that has to be the loopback. It begins
// anywhere, because a port of an address that was just given back may not be
// free yet.
func ClaimLoopback(network any) (*LoopbackAddress, error) {
	if _, ok := network.(Loopback); !ok {
		return nil, fmt.Errorf("the network to join is not a loopback: another environment made it")
	}
	return claimLoopback(rand.IntN(loopbackAddresses))
}

func claimLoopback(begin int) (*LoopbackAddress, error) {
	for i := range loopbackAddresses {
		n := (begin+i)%loopbackAddresses + 1
		address := netip.AddrFrom4([4]byte{127, 213, byte(n >> 8), byte(n)})
		held, err := claim(address.String())
		if errors.Is(err, errTaken) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &LoopbackAddress{Address: address, held: held}, nil
	}
	return nil, fmt.Errorf("all %d addresses of 127.213.0.0/16 are given to instances", loopbackAddresses)
}

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
