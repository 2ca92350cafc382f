package virtnet

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"

	"github.com/vishvananda/netlink"

	"tare/internal/linux/netns"
)

// A bridge with NAT has two networks in its 256 addresses: the bridge with the
// instances and their gateway, and the way between the gateway and the host.
const (
	innerBits     = 25
	lastInnerPart = 126
	outerBits     = 30
	outerPart     = 253 // the gateway, as the host sees it: whoever comes from the bridge comes from here
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
	return newBridge(owner, &Bridge{path: path, last: hostPart, nat: true})
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
	return netns.Within(b.space, func() error {
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
