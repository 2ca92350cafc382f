package virtualbox

import (
	"context"
	"fmt"
	"net"

	"tare/internal/environment"
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
)

// networked are VMs on an existing network that also connects them with this machine.
type networked struct{ *machines }

// NewNetwork returns the existing network of the VMs' first adapters.
func (n *networked) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	o := n.box.options
	device, err := net.InterfaceByName(o.Adapter)
	if err != nil {
		return nil, fmt.Errorf("adapter: %s: %w", o.Adapter, err)
	}
	addresses, err := device.Addrs()
	if err != nil {
		return nil, fmt.Errorf("adapter: the addresses of %s: %w", o.Adapter, err)
	}
	for _, address := range addresses {
		if a, ok := address.(*net.IPNet); ok && a.IP.To4() != nil {
			return hypervisor.NewExisting(o.Network+" network at the host's "+o.Adapter, a.IP.String()), nil
		}
	}
	return nil, fmt.Errorf("adapter: %s has no IPv4 address on this machine", o.Adapter)
}
