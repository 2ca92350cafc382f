package native

import (
	"context"
	"fmt"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/linux/virtnet"
	"tare/internal/usage"
)

// What a packet passes, for reports.
const (
	hostPath     = "the host's network stack"
	loopbackPath = "the host's network stack, by its loopback"
	bridgePath   = "veth pair, bridge"
	natPath      = "veth pair, bridge, router with NAT"
	nonePath     = "none: only a loopback device"
)

// bridge makes the network of an instance that does not share the host's.
func (o *Options) bridge(own *cleanup.Owner) (*virtnet.Bridge, error) {
	if o.Network == "nat" {
		return virtnet.NewNAT(own.ID(), "a bridge, one veth pair each, a router with NAT before the host")
	}
	return virtnet.NewBridge(own.ID(), "a bridge, one veth pair each")
}

// Bridged reports whether instances that meet are at a bridge.
func (n *native) Bridged() bool { return !n.options.shares() && n.options.Network != "nat" }

// wire attaches an instance to its network.
func (i *instance) wire(o Options, r environment.Request) (err error) {
	switch {
	case o.Network == "host" && r.Network == nil:
		i.IP, i.Route.Network = virtnet.HostAddress, hostPath
		return nil
	case o.shares():
		i.Route.Network = hostPath
		network := r.Network
		if o.Network == "loopback" {
			i.Route.Network = loopbackPath
		}
		if network == nil {
			network = virtnet.Loopback{}
		}
		loopback, err := virtnet.ClaimLoopback(network)
		if err != nil {
			return err
		}
		i.Undo(loopback.Close)
		i.IP = loopback.Address.String()
		return nil
	case o.Network == "none" && r.Network == nil:
		if i.space, err = virtnet.Alone(); err != nil {
			return err
		}
		i.Undo(i.space.Close)
		i.Route.Network = nonePath
		return nil
	}
	i.Route.Network = bridgePath
	if o.Network == "nat" {
		i.Route.Network = natPath
	}
	var bridge *virtnet.Bridge
	if r.Network == nil {
		if bridge, err = o.bridge(r.Owner); err != nil {
			return err
		}
		i.Undo(func() error { return bridge.Close(context.Background()) })
	} else if given, ok := r.Network.(*virtnet.Bridge); ok {
		bridge = given
	} else {
		return fmt.Errorf("the network is not a bridge of this environment: another environment made it")
	}
	port, err := bridge.Namespace()
	if err != nil {
		return err
	}
	i.Undo(port.Close)
	i.space, i.IP = port.File, port.Address.Addr().String()
	i.Traffic(usage.Footprint{Devices: []string{port.Device}, Space: bridge.Space()})
	return nil
}
