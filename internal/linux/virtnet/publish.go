package virtnet

import (
	"context"
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink"

	spaces "tare/internal/linux/netns"
)

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
