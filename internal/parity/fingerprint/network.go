package fingerprint

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"tare/internal/agent/observe"
	"tare/internal/parity"
)

// offloads that are read from the driver.
var offloads = []string{"rx", "tx", "sg", "tso", "gso", "gro", "lro"}

// network adds the interface that the workload's packets pass.
func (r *reading) network() {
	if path := r.outer.Paths.Network; path != "" {
		r.outside("network.path", path)
	} else {
		r.missing("network.path", parity.Outside, "the provider does not report it")
	}
	keys := []string{"network.interface", "network.mtu", "network.queue"}
	for _, name := range offloads {
		keys = append(keys, "network.offload["+name+"]")
	}
	i, ok := r.carrier()
	if !ok {
		for _, key := range keys {
			r.missing(key, parity.Inside, "no interface is visible: %s", r.why("interfaces"))
		}
		return
	}
	name := i.Name
	if i.Driver != "" && !i.Loopback {
		name += " (" + i.Driver + ")"
	}
	r.inside("network.interface", name)
	r.inside("network.mtu", strconv.Itoa(i.MTU))
	if i.Queue != nil {
		r.inside("network.queue", strconv.Itoa(*i.Queue))
	} else {
		r.missing("network.queue", parity.Inside, "interface %s does not report it", i.Name)
	}
	for _, name := range offloads {
		on, known := i.Offloads[name]
		switch key := "network.offload[" + name + "]"; {
		case !known && i.Error != "":
			r.missing(key, parity.Inside, "interface %s: %s", i.Name, i.Error)
		case !known:
			r.missing(key, parity.Inside, "interface %s does not report it", i.Name)
		case on:
			r.inside(key, "on")
		default:
			r.inside(key, "off")
		}
	}
}

// carrier returns the interface with the address that servers listen on. If none
// has it, as with published ports, it is the first one that is not loopback.
func (r *reading) carrier() (found observe.Interface, ok bool) {
	address := cmp.Or(r.Address, loopback)
	// All of 127.0.0.0/8 belongs to the loopback interface, which lists one
	// address only.
	parsed, err := netip.ParseAddr(address)
	local := err == nil && parsed.IsLoopback()
	for _, i := range r.Interfaces {
		if slices.Contains(i.Addresses, address) || i.Loopback && local {
			return i, true
		}
	}
	for _, i := range r.Interfaces {
		if !i.Loopback && i.Up {
			return i, true
		}
	}
	return found, false
}
