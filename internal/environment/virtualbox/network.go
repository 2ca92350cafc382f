package virtualbox

import (
	"context"
	"fmt"
	"net"

	"tare/internal/environment"
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
)

// NewNetwork returns the existing network of the VMs' first adapters, which also connects
// them with this machine.
func (m *machines) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	o := m.box.options
	if o.Network == nat {
		return nil, nil
	}
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
