package virtnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/linux/netns"
)

// Port is a place at a bridge, with the address that belongs to it.
type Port struct {
	Device  string // the interface at the bridge
	Address netip.Prefix
	Gateway netip.Addr // the router's, at a bridge with NAT
	MAC     net.HardwareAddr
	MTU     int // of what is connected; 0 is the kernel's
	// File is what is handed on: the tap that a virtual machine's network card
	// is, or the network namespace that holds eth0.
	File *os.File

	bridge *Bridge
	part   int
	close  sync.Once
	end    error
}

// Path of what is handed on, for other processes as long as this one lives.
func (p *Port) Path() string { return pathOf(p.File) }

// Tap makes a port of a virtual machine. The tap is there for as long as
// somebody has its file open.
func (b *Bridge) Tap() (*Port, error) {
	return b.port("making a tap", func(p *Port) error {
		// A tap is made in the namespace that its file was opened in.
		if err := netns.Within(b.space, p.openTap); err != nil {
			return err
		}
		return b.plug(p.Device)
	})
}

// port takes an address for a port, and gives it back if the port cannot be made.
func (b *Bridge) port(tried string, make func(*Port) error) (*Port, error) {
	p, err := b.take()
	if err != nil {
		return nil, err
	}
	if err := make(p); err != nil {
		return nil, errors.Join(explain(tried, err), p.Close())
	}
	return p, nil
}

func (p *Port) openTap() error {
	const device = "/dev/net/tun"
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("opening %s: %w; this kernel has no taps: modprobe tun", device, err)
	}
	if err != nil {
		return fmt.Errorf("opening %s: %w", device, err)
	}
	p.File = os.NewFile(uintptr(fd), p.Device)
	request, err := unix.NewIfreq(p.Device)
	if err != nil {
		return err
	}
	// With the header, packets pass larger than a frame and without a checksum.
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("making the tap %s: %w", p.Device, err)
	}
	return nil
}

// Namespace makes a port of a sandbox: a network namespace whose eth0 has the
// port's address.
func (b *Bridge) Namespace() (*Port, error) {
	return b.port("making a network namespace at the bridge", func(p *Port) (err error) {
		if p.File, err = netns.New(); err != nil {
			return err
		}
		const theirs = "eth0"
		if err := b.there.LinkAdd(&netlink.Veth{
			LinkAttrs: b.named(p.Device),
			PeerName:  theirs, PeerHardwareAddr: p.MAC, PeerNamespace: netlink.NsFd(p.File.Fd()),
		}); err != nil {
			return fmt.Errorf("making the interface %s: %w", p.Device, err)
		}
		if err := b.plug(p.Device); err != nil {
			return err
		}
		return netns.Within(p.File, func() error { return errors.Join(p.setUp("lo"), p.setUp(theirs)) })
	})
}

// setUp brings up an interface of this thread's namespace; one other than the loopback
// gets the port's address.
func (p *Port) setUp(name string) error {
	l, err := netlink.LinkByName(name)
	if err == nil && name != "lo" {
		err = netlink.AddrAdd(l, &netlink.Addr{IPNet: ipNet(p.Address)})
	}
	if err == nil {
		err = netlink.LinkSetUp(l)
	}
	if err == nil && name != "lo" && p.Gateway.IsValid() {
		err = netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: p.Gateway.AsSlice()})
	}
	if err != nil {
		return fmt.Errorf("giving %s the address %s: %w", name, p.Address, err)
	}
	return nil
}

// take reserves an address. The search goes on from the last one, so that no
// neighbour takes a new instance for the one before it.
func (b *Bridge) take() (*Port, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errors.New("the network between the instances is closed")
	}
	room := b.room()
	for range room - b.own() {
		if b.last++; b.last > room {
			b.last = b.own() + 1
		}
		if !b.ports[b.last] {
			b.ports[b.last] = true
			address, gateway := b.subnet.at(b.last), netip.Addr{}
			if b.nat {
				address, gateway = netip.PrefixFrom(address.Addr(), innerBits), b.subnet.at(hostPart).Addr()
			}
			// Not the manufacturers', and the same for the same address.
			mac := append(net.HardwareAddr{0x52, 0x54}, address.Addr().AsSlice()...)
			return &Port{Device: fmt.Sprintf("port%d", b.last), Address: address, Gateway: gateway, MAC: mac, MTU: b.mtu, bridge: b, part: b.last}, nil
		}
	}
	return nil, fmt.Errorf("%s has room for %d instances, and all places are taken", b.subnet, room-b.own())
}

// room is the last part of the last instance's address.
func (b *Bridge) room() int {
	switch {
	case b.nat:
		return lastInnerPart
	case b.overlay != nil:
		return b.own() + b.overlay.size() - 1
	}
	return lastPart
}

// Close removes the port. The instance behind it has ended.
func (p *Port) Close() error {
	p.close.Do(func() {
		if p.File != nil {
			p.File.Close() // it may have been handed on
		}
		p.bridge.mu.Lock()
		defer p.bridge.mu.Unlock()
		if !p.bridge.closed {
			p.end = remove(p.bridge.there, p.Device)
		}
		p.bridge.ports[p.part] = false
	})
	return p.end
}

// Alone makes a network namespace with a loopback that is up, and nothing else.
func Alone() (*os.File, error) {
	space, err := netns.New()
	if err != nil {
		return nil, explain("making a network namespace", err)
	}
	if err := netns.Within(space, func() error { return (&Port{}).setUp("lo") }); err != nil {
		return nil, errors.Join(explain("bringing up a loopback", err), space.Close())
	}
	return space, nil
}

// Lend lets go of a tap's file and keeps the tap, for a program that opens it by
// its name. The program has to run in the namespace that the bridge is in; the
// tap ends with that, or with Close. A program of a user other than root is named.
func (p *Port) Lend(user int) error {
	if user != 0 {
		if err := unix.IoctlSetInt(int(p.File.Fd()), unix.TUNSETOWNER, user); err != nil {
			return fmt.Errorf("giving the tap %s to user %d: %w", p.Device, user, err)
		}
	}
	if err := unix.IoctlSetInt(int(p.File.Fd()), unix.TUNSETPERSIST, 1); err != nil {
		return fmt.Errorf("keeping the tap %s: %w", p.Device, err)
	}
	return p.File.Close()
}

// Space is a path of the network namespace that the port's device is in.
func (p *Port) Space() string { return p.bridge.Space() }
