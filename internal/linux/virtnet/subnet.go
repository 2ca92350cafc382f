package virtnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

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
