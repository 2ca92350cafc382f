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
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	spaces "tare/internal/linux/netns"
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
	return NewLoopbackAddress()
}

// NewLoopbackAddress takes a free address of the loopback, for published ports that an
// engine's proxy listens at.
func NewLoopbackAddress() (*LoopbackAddress, error) {
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

// pools are where a network's 256 addresses are taken from: three, because a
// VPN may have routes to all of one.
var pools = []netip.Prefix{
	netip.MustParsePrefix("10.213.0.0/16"),
	netip.MustParsePrefix("172.29.0.0/16"),
	netip.MustParsePrefix("192.168.0.0/16"),
}

// subnet is claimed by this process and led to by no route of the host's.
type subnet struct {
	netip.Prefix
	number int // unique on this machine, below 768
	held   net.Conn
}

// at is the nth address of it.
func (s subnet) at(n int) netip.Prefix {
	a := s.Addr().As4()
	a[3] = byte(n)
	return netip.PrefixFrom(netip.AddrFrom4(a), s.Bits())
}

// name of the host's interface to it: at most 15 characters, which is what the
// kernel takes, with the owner's id in it.
func (s subnet) name(owner string) string {
	return fmt.Sprintf("t%.12s%02s", owner, strconv.FormatInt(int64(s.number), 36))
}

func takeSubnet() (subnet, error) {
	taken, err := routes()
	if err != nil {
		return subnet{}, err
	}
	for number := range len(pools) << 8 {
		prefix := candidate(number)
		if overlaps(prefix, taken) {
			continue
		}
		held, err := claim(prefix.String())
		if errors.Is(err, errTaken) {
			continue
		}
		return subnet{prefix, number, held}, err
	}
	return subnet{}, fmt.Errorf("this machine has routes to all of %v, so no block of 256 addresses is free for a network between instances: see ip route show table all", pools)
}

func candidate(number int) netip.Prefix {
	a := pools[number>>8].Addr().As4()
	a[2] = byte(number)
	return netip.PrefixFrom(netip.AddrFrom4(a), 24)
}

func overlaps(p netip.Prefix, taken []netip.Prefix) bool {
	return slices.ContainsFunc(taken, func(t netip.Prefix) bool { return t.Bits() > 0 && t.Overlaps(p) })
}

// routes are the destinations that the host knows, in all of its tables.
func routes() (list []netip.Prefix, err error) {
	known, err := netlink.RouteListFiltered(unix.AF_INET, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, fmt.Errorf("reading the host's routes: %w", err)
	}
	for _, r := range known {
		if r.Dst == nil {
			continue // the default route
		}
		ones, _ := r.Dst.Mask.Size()
		if address, ok := netip.AddrFromSlice(r.Dst.IP.To4()); ok {
			list = append(list, netip.PrefixFrom(address, ones))
		}
	}
	return list, nil
}

// PublishedAddress is an address of the host's own, for the published ports of one
// instance: several may publish the same port, each at its own address. It is
// no address of the loopback, for which engines translate nothing.
type PublishedAddress struct {
	Address netip.Addr
	bridge  Bridge // the parts of one that have to be taken back
}

// NewPublishedAddress makes one. The interface that carries it has its other end in a
// namespace that ends with this process.
func NewPublishedAddress(owner string) (f *PublishedAddress, err error) {
	f = &PublishedAddress{}
	defer func() {
		if err != nil {
			err = errors.Join(explain("making an address to publish ports at", err), f.Close())
			f = nil
		}
	}()
	b := &f.bridge
	if b.subnet, err = takeSubnet(); err != nil {
		return f, err
	}
	if b.space, err = spaces.New(); err != nil {
		return f, err
	}
	f.Address = b.subnet.at(hostPart).Addr()
	ours, err := b.reach(owner)
	if err != nil {
		return f, err
	}
	return f, address(&netlink.Handle{}, ours, netip.PrefixFrom(f.Address, 32))
}

// Close takes the address back.
func (f *PublishedAddress) Close() error { return f.bridge.Close(context.Background()) }
