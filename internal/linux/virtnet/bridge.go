package virtnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	spaces "tare/internal/linux/netns"
)

// Bridge is a Linux bridge with a port for each instance and one for the host. It
// is in a separate network namespace, to which the host's netfilter rules do not
// apply: Docker, for example, makes the host drop packets between ports of other
// bridges.
type Bridge struct {
	path   string
	subnet subnet
	host   string // the interface of the host's end
	space  *os.File
	there  *netlink.Handle // speaks to the namespace
	master int             // the bridge's index in it
	nat    bool            // the host is behind a router that translates, and no port of the bridge
	// overlay that the bridge is this host's part of; nil for none.
	overlay *Overlay
	mtu     int // of all interfaces; 0 is the kernel's

	mu     sync.Mutex
	ports  [256]bool // by the last part of the address
	last   int
	closed bool
}

// The last parts of addresses.
const (
	hostPart = 1
	lastPart = 254
)

// NewBridge makes a bridge that the host reaches. The host's interface carries
// the owner's id, of 12 letters, in its name; path is what Path says.
func NewBridge(owner, path string) (*Bridge, error) {
	return newBridge(owner, &Bridge{path: path})
}

func newBridge(owner string, b *Bridge) (_ *Bridge, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(explain("making a network between instances", err), b.Close(context.Background()))
		}
	}()
	take := takeSubnet
	if b.overlay != nil {
		take = b.overlay.take
		if b.mtu, err = b.overlay.mtu(); err != nil {
			return nil, err
		}
	}
	if b.subnet, err = take(); err != nil {
		return nil, err
	}
	b.last = b.own()
	if b.space, err = spaces.New(); err != nil {
		return nil, err
	}
	if b.there, err = netlink.NewHandleAt(netns.NsHandle(b.space.Fd()), syscall.NETLINK_ROUTE); err != nil {
		return nil, fmt.Errorf("opening netlink in the network namespace: %w", err)
	}
	bridge := &netlink.Bridge{LinkAttrs: named("bridge")}
	if err := b.there.LinkAdd(bridge); err != nil {
		return nil, fmt.Errorf("making the bridge: %w", err)
	}
	b.master = bridge.Index
	if err := b.there.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("bringing the bridge up: %w", err)
	}
	ours, err := b.reach(owner)
	if err != nil {
		return nil, err
	}
	if b.nat {
		return b, b.route(ours)
	}
	if err := b.plug("host"); err != nil {
		return nil, err
	}
	if b.overlay != nil {
		if err := b.join(); err != nil {
			return nil, err
		}
	}
	return b, address(&netlink.Handle{}, ours, b.subnet.at(b.own()))
}

// own is the last part of the host's address, or of the router's.
func (b *Bridge) own() int {
	if b.overlay != nil {
		return b.overlay.part(b.overlay.Own)
	}
	return hostPart
}

// reach makes the host's end of the way in, and the other end in the namespace.
func (b *Bridge) reach(owner string) (netlink.Link, error) {
	ours := &netlink.Veth{LinkAttrs: b.named(b.subnet.name(owner)), PeerName: "host", PeerNamespace: netlink.NsFd(b.space.Fd())}
	if err := netlink.LinkAdd(ours); err != nil {
		return nil, fmt.Errorf("making the interface %s: %w", ours.Name, err)
	}
	b.host = ours.Name
	return ours, nil
}

// address gives an interface an address and brings it up.
func address(where *netlink.Handle, l netlink.Link, a netip.Prefix) error {
	if err := where.AddrAdd(l, &netlink.Addr{IPNet: ipNet(a)}); err != nil {
		return fmt.Errorf("giving %s the address %s: %w", l.Attrs().Name, a, err)
	}
	if err := where.LinkSetUp(l); err != nil {
		return fmt.Errorf("bringing %s up: %w", l.Attrs().Name, err)
	}
	return nil
}

// plug makes an interface of the namespace a port.
func (b *Bridge) plug(name string) error {
	port, err := b.there.LinkByName(name)
	if err == nil {
		err = b.there.LinkSetMasterByIndex(port, b.master)
	}
	if err == nil {
		err = b.there.LinkSetUp(port)
	}
	if err != nil {
		return fmt.Errorf("making %s a port of the bridge: %w", name, err)
	}
	return nil
}

// Path of a packet between two instances.
func (b *Bridge) Path() string { return b.path }

// Host is the address by which the instances reach the host.
func (b *Bridge) Host() string {
	if b.nat {
		return b.subnet.at(beyondPart).Addr().String()
	}
	return b.subnet.at(b.own()).Addr().String()
}

// Space is a path of the network namespace that the ports are in.
func (b *Bridge) Space() string { return pathOf(b.space) }

// Close removes the bridge and all that is plugged into it.
func (b *Bridge) Close(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	var problems []error
	if b.host != "" {
		// By hand, since the kernel takes its time to clear a namespace.
		problems = append(problems, remove(&netlink.Handle{}, b.host))
	}
	if b.there != nil {
		b.there.Close()
	}
	if b.space != nil {
		problems = append(problems, b.space.Close())
	}
	if b.subnet.held != nil {
		problems = append(problems, b.subnet.held.Close())
	}
	return errors.Join(problems...)
}

// remove removes an interface; one that is gone is no problem.
func remove(where *netlink.Handle, name string) error {
	l, err := where.LinkByName(name)
	if err == nil {
		err = where.LinkDel(l)
	}
	var gone netlink.LinkNotFoundError
	if err == nil || errors.As(err, &gone) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	return fmt.Errorf("removing the interface %s: %w", name, err)
}

// named is an interface whose packets are as large as the network's.
func (b *Bridge) named(name string) netlink.LinkAttrs {
	attributes := named(name)
	attributes.MTU = b.mtu
	return attributes
}

func named(name string) netlink.LinkAttrs {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	return attributes
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

func pathOf(space *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), space.Fd()) }

// explain adds what the kernel's refusals mean.
func explain(tried string, err error) error {
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: %w; it requires root with CAP_NET_ADMIN and CAP_SYS_ADMIN: run tare outside of containers, or in a privileged one", tried, err)
	case errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("%s: %w; this kernel has no bridge, no veth or no vxlan: modprobe -a bridge veth vxlan", tried, err)
	}
	return fmt.Errorf("%s: %w", tried, err)
}

// A bridge with NAT has two networks in its 256 addresses: the bridge with the
// instances and their gateway, and the way between the gateway and the host.
const (
	innerBits     = 25
	lastInnerPart = 126
	outerBits     = 30
	outerPart     = 253 // the gateway, as the host sees it: the source address of packets from the bridge
	beyondPart    = 254 // the host, as the instances see it
)

// Masquerader is the program that makes the rule for the translation.
const Masquerader = "iptables"

// NewNAT makes a bridge whose instances reach the host through a router that
// gives their packets an address of its own. The router is the namespace that
// the bridge lies in, so the rule vanishes with it, and the host's own rules
// are left alone. The host reaches the instances by a route.
func NewNAT(owner, path string) (*Bridge, error) {
	if _, err := exec.LookPath(Masquerader); err != nil {
		return nil, fmt.Errorf("making a network with address translation: %w; install it: apt-get install -y iptables", err)
	}
	return newBridge(owner, &Bridge{path: path, nat: true})
}

// route makes the namespace a router between the bridge and the host.
func (b *Bridge) route(ours netlink.Link) error {
	bridge, err := b.there.LinkByIndex(b.master)
	if err != nil {
		return fmt.Errorf("looking for the bridge: %w", err)
	}
	inner := netip.PrefixFrom(b.subnet.at(hostPart).Addr(), innerBits)
	if err := address(b.there, bridge, inner); err != nil {
		return err
	}
	up, err := b.there.LinkByName("host")
	if err != nil {
		return fmt.Errorf("looking for the router's way out: %w", err)
	}
	outer, beyond := b.subnet.at(outerPart).Addr(), b.subnet.at(beyondPart).Addr()
	if err := address(b.there, up, netip.PrefixFrom(outer, outerBits)); err != nil {
		return err
	}
	if err := address(&netlink.Handle{}, ours, netip.PrefixFrom(beyond, outerBits)); err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: ours.Attrs().Index, Dst: ipNet(inner.Masked()), Gw: outer.AsSlice()}); err != nil {
		return fmt.Errorf("adding the host's route to %s via %s: %w", inner.Masked(), outer, err)
	}
	return spaces.Within(b.space, func() error {
		const forward = "/proc/sys/net/ipv4/ip_forward"
		if err := os.WriteFile(forward, []byte("1"), 0); err != nil {
			return fmt.Errorf("making the network namespace a router: %w", err)
		}
		output, err := exec.Command(Masquerader, "-w", "-t", "nat", "-A", "POSTROUTING", "-o", "host", "-j", "MASQUERADE").CombinedOutput()
		if err != nil {
			return fmt.Errorf("adding the NAT rule: %s: %w: %s", Masquerader, err, bytes.TrimSpace(output))
		}
		return nil
	})
}
