package hypervisor

import (
	"context"
	"sync"

	"tare/internal/environment"
	"tare/internal/usage"
)

// RemoteGuest is a guest whose VM runs on another machine: its resource use is measured
// inside.
type RemoteGuest struct {
	*Guest
	// Unseen is a note of what these values lack.
	Unseen string
}

// Footprint has nothing on this machine, since no process of the VM runs here.
func (e RemoteGuest) Footprint() usage.Footprint { return usage.Footprint{Elsewhere: e} }

// Meter measures the resource use inside the guest.
func (e RemoteGuest) Meter(o usage.Options) usage.Meter {
	return meter{environment.Meter(e.Inside(), o), e.Unseen}
}

type meter struct {
	usage.Meter
	unseen string
}

func (m meter) Stop() usage.Usage { return noted(m.Meter.Stop(), m.unseen) }

// UsageOfStart is the resource use of the start, inside the guest.
func (e RemoteGuest) UsageOfStart() usage.Usage {
	return noted(environment.UsageOfStart(e.Inside()), e.Unseen)
}

func noted(u usage.Usage, note string) usage.Usage {
	u.Notes = append(u.Notes, note)
	return u
}

// Existing is the network that the VMs are on anyway, over which they and this machine
// communicate.
type Existing struct {
	path string
	mu   sync.Mutex
	host string
}

// NewExisting returns a network with its path; host is this machine's address before a
// guest is known.
func NewExisting(path, host string) *Existing { return &Existing{path: path, host: host} }

// Path describes the network.
func (n *Existing) Path() string { return n.path }

// Host returns this machine's address for the guests.
func (n *Existing) Host() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

// Learn takes this machine's address on the route to the first guest.
func (n *Existing) Learn(g *Guest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if host := g.LocalAddress(); host != "" {
		n.host = host
	}
}

// Close does nothing: the network stays.
func (n *Existing) Close(context.Context) error { return nil }
