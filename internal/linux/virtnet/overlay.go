package virtnet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// OverlayPath is what a packet passes between two hosts of an overlay.
const OverlayPath = "a bridge on each host, and VXLAN between the hosts"

// OverlayPort is the UDP port of VXLAN, which the hosts have to reach at each other.
const OverlayPort = 4789

// Overlay is a network over several hosts: a bridge on each, which VXLAN (RFC 7348) joins
// to one. Its frames pass between the hosts' own addresses in UDP packets, without
// encryption.
type Overlay struct {
	// Number is that of the 256 addresses, which have to be free on each of the hosts.
	Number int `json:"number"`
	// ID of the VXLAN.
	ID int `json:"id"`
	// Hosts are their addresses, and Own is this host's place among them: each has an
	// equal part of the addresses.
	Hosts []netip.Addr `json:"hosts"`
	Own   int          `json:"own"`
}

// mostHosts leaves each host room for a handful of instances.
const mostHosts = 32

// NewOverlay draws the numbers of an overlay between hosts.
func NewOverlay(hosts []netip.Addr) (Overlay, error) {
	if len(hosts) > mostHosts {
		return Overlay{}, fmt.Errorf("a network over %d hosts: at most %d can be joined", len(hosts), mostHosts)
	}
	return Overlay{Number: rand.IntN(len(pools) << 8), ID: 1 + rand.IntN(1<<24-1), Hosts: hosts}, nil
}

// ErrTaken is why a host cannot have the addresses of an overlay.
var ErrTaken = errors.New("its addresses are in use on this host")

// take claims the addresses of the overlay on this host.
func (o Overlay) take() (subnet, error) {
	if len(o.Hosts) < 2 || len(o.Hosts) > mostHosts || o.Own < 0 || o.Own >= len(o.Hosts) || o.Number < 0 || o.Number >= len(pools)<<8 {
		return subnet{}, fmt.Errorf("there is no overlay %+v", o)
	}
	taken, err := routes()
	if err != nil {
		return subnet{}, err
	}
	prefix := candidate(o.Number)
	if overlaps(prefix, taken) {
		return subnet{}, ErrTaken
	}
	held, err := claim(prefix.String())
	if errors.Is(err, errTaken) {
		err = ErrTaken
	}
	return subnet{prefix, o.Number, held}, err
}

// size is how many addresses each host has, its own among them.
func (o Overlay) size() int { return lastPart / len(o.Hosts) }

// part is the last part of the address by which a host is reached in it.
func (o Overlay) part(host int) int { return hostPart + host*o.size() }

// mtu is how large a packet can be, so that with 50 bytes of VXLAN it passes to each of
// the other hosts in one piece.
func (o Overlay) mtu() (int, error) {
	const added, most = 50, 1500
	mtu := most
	for n, host := range o.Hosts {
		if n == o.Own {
			continue
		}
		ways, err := netlink.RouteGet(host.AsSlice())
		if err == nil && len(ways) == 0 {
			err = errors.New("there is none")
		}
		if err != nil {
			return 0, fmt.Errorf("looking for the route to the host %s: %w", host, err)
		}
		way, err := netlink.LinkByIndex(ways[0].LinkIndex)
		if err != nil {
			return 0, fmt.Errorf("reading the interface to the host %s: %w", host, err)
		}
		mtu = min(mtu, way.Attrs().MTU-added)
	}
	return mtu, nil
}

// Join makes this host's bridge of an overlay. Instances have their addresses from
// this host's part of them.
func (o Overlay) Join(owner string) (*Bridge, error) {
	return newBridge(owner, &Bridge{path: OverlayPath, overlay: &o})
}

// join makes the VXLAN a port of the bridge. Its packets pass the network of this
// process, in which it is made.
func (b *Bridge) join() error {
	o := b.overlay
	const name = "overlay"
	tunnel := &netlink.Vxlan{LinkAttrs: named(name), VxlanId: o.ID, Port: OverlayPort, Learning: true}
	tunnel.MTU, tunnel.Namespace = b.mtu, netlink.NsFd(b.space.Fd())
	if err := netlink.LinkAdd(tunnel); err != nil {
		return fmt.Errorf("making the VXLAN %d: %w", o.ID, err)
	}
	there, err := b.there.LinkByName(name)
	if err != nil {
		return fmt.Errorf("looking for the VXLAN %d: %w", o.ID, err)
	}
	for n, host := range o.Hosts {
		if n == o.Own {
			continue
		}
		// What is for everybody, or for an address not seen yet, goes to all hosts.
		if err := b.there.NeighAppend(&netlink.Neigh{
			LinkIndex: there.Attrs().Index, Family: syscall.AF_BRIDGE, State: netlink.NUD_PERMANENT, Flags: netlink.NTF_SELF,
			IP: host.AsSlice(), HardwareAddr: make(net.HardwareAddr, 6),
		}); err != nil {
			return fmt.Errorf("adding the host %s to the VXLAN: %w", host, err)
		}
	}
	return b.plug(name)
}

// Reach waits until the host reaches all others of the overlay, so that a firewall between
// them is named before a server is waited for.
func (b *Bridge) Reach(ctx context.Context) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ours, err := netlink.LinkByName(b.host)
	if err != nil {
		return fmt.Errorf("looking for the interface %s: %w", b.host, err)
	}
	for n, host := range b.overlay.Hosts {
		if n == b.overlay.Own {
			continue
		}
		there := b.subnet.at(b.overlay.part(n)).Addr()
		if err := answers(ctx, ours.Attrs().Index, there); err != nil {
			return fmt.Errorf("the host %s does not answer at %s of the network over several hosts (VXLAN, UDP port %d): %w; permit that port between the hosts", host, there, OverlayPort, err)
		}
	}
	return nil
}

// answers waits until a neighbour has said its hardware address, which no rule for
// packets of IP hinders.
func answers(ctx context.Context, link int, neighbour netip.Addr) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ask, err := net.Dial("udp4", netip.AddrPortFrom(neighbour, 9).String())
		if err != nil {
			return err
		}
		_, _ = ask.Write([]byte{0}) // the kernel asks for the hardware address
		ask.Close()
		known, err := netlink.NeighList(link, unix.AF_INET)
		if err != nil {
			return fmt.Errorf("reading the neighbours: %w", err)
		}
		for _, n := range known {
			if n.IP.Equal(neighbour.AsSlice()) && len(n.HardwareAddr) > 0 && n.State&(netlink.NUD_INCOMPLETE|netlink.NUD_FAILED) == 0 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
