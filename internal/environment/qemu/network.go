package qemu

import (
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
