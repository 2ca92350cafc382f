package qemu

import (
	"context"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/host/cleanup"
	"tare/internal/linux/virtnet"
)

// bridge creates the bridge for the guests' taps.
func (o *Options) bridge(own *cleanup.Owner) (*virtnet.Bridge, error) {
	const path = "a bridge, one tap and virtio network card each"
	if o.Network == "nat" {
		return virtnet.NewNAT(own.ID(), path+", a router with NAT before the host")
	}
	return virtnet.NewBridge(own.ID(), path)
}

// connect attaches the guest to the request's network, or to a bridge for this
// guest alone.
func (o *Options) connect(g *vmm.Guest, r environment.Request) (*virtnet.Port, error) {
	if r.Network != nil || o.Network != "bridge" && o.Network != "nat" {
		return g.JoinNetwork()
	}
	bridge, err := o.bridge(r.Owner)
	if err != nil {
		return nil, err
	}
	g.OnStop(func(ctx context.Context) error { return bridge.Close(ctx) })
	return g.AttachBridge(bridge)
}

// packetPath describes the path of a packet between the guest and the host.
func (o *Options) packetPath(joined bool) string {
	const tap = "virtio network card, QEMU, tap, bridge"
	switch {
	case o.Network == "nat":
		return tap + ", router with NAT, veth pair"
	case o.Network == "user" && joined:
		return tap + ", veth pair; also QEMU's user-mode stack"
	case joined:
		return tap + ", veth pair"
	case o.Network == "user":
		return "virtio network card, QEMU's user-mode stack, the host's sockets"
	}
	return "none: only a loopback device"
}
