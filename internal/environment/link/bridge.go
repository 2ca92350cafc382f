package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	spaces "tare/internal/netns"
)

// Bridge is a switch of the kernel with a port for each instance and one for
// the host. It lies in a network namespace of its own, where the host's packet
// filter has no say: Docker, for one, makes the host drop what passes between
// the ports of other people's bridges.
type Bridge struct {
	path   string
	subnet subnet
	host   string // the interface of the host's end
	space  *os.File
	there  *netlink.Handle // speaks to the namespace
	master int             // the bridge's index in it

	mu     sync.Mutex
	ports  [256]bool // by the last part of the address
	last   int
	closed bool
}

// The last parts of addresses.
const (
	hostPart  = 1
	firstPart = 2
	lastPart  = 254
)

// NewBridge makes a bridge that the host reaches. The host's interface carries
// the owner's id, of 12 letters, in its name; path is what Path says.
func NewBridge(owner, path string) (_ *Bridge, err error) {
	b := &Bridge{path: path, last: hostPart}
	defer func() {
		if err != nil {
			err = errors.Join(explain("making a network between instances", err), b.Close(context.Background()))
		}
	}()
	if b.subnet, err = takeSubnet(); err != nil {
		return nil, err
	}
	if b.space, err = spaces.New(); err != nil {
		return nil, err
	}
	if b.there, err = netlink.NewHandleAt(netns.NsHandle(b.space.Fd()), syscall.NETLINK_ROUTE); err != nil {
		return nil, fmt.Errorf("speaking to the network namespace: %w", err)
	}
	bridge := &netlink.Bridge{LinkAttrs: named("bridge")}
	if err := b.there.LinkAdd(bridge); err != nil {
		return nil, fmt.Errorf("making the bridge: %w", err)
	}
	b.master = bridge.Index
	if err := b.there.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("bringing the bridge up: %w", err)
	}
	return b, b.reach(owner)
}

// reach makes the host's port.
func (b *Bridge) reach(owner string) error {
	// At most 15 characters, which is what the kernel takes.
	name := fmt.Sprintf("t%.12s%02s", owner, strconv.FormatInt(int64(b.subnet.number), 36))
	ours := &netlink.Veth{LinkAttrs: named(name), PeerName: "host", PeerNamespace: netlink.NsFd(b.space.Fd())}
	if err := netlink.LinkAdd(ours); err != nil {
		return fmt.Errorf("making the interface %s: %w", name, err)
	}
	b.host = name
	if err := b.plug("host"); err != nil {
		return err
	}
	if err := netlink.AddrAdd(ours, &netlink.Addr{IPNet: ipNet(b.subnet.at(hostPart))}); err != nil {
		return fmt.Errorf("giving %s the address %s: %w", name, b.subnet.at(hostPart), err)
	}
	if err := netlink.LinkSetUp(ours); err != nil {
		return fmt.Errorf("bringing %s up: %w", name, err)
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
func (b *Bridge) Host() string { return b.subnet.at(hostPart).Addr().String() }

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
		return fmt.Errorf("%s: %w; it takes root with CAP_NET_ADMIN and CAP_SYS_ADMIN: run tare outside of containers, or in a privileged one", tried, err)
	case errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("%s: %w; this kernel has no bridge or no veth: modprobe bridge veth", tried, err)
	}
	return fmt.Errorf("%s: %w", tried, err)
}
