package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tare/internal/environment"
	"tare/internal/linux/virtnet"
	"tare/internal/study"
)

// HostSlot names what runs on a host of the study: an environment of the plan,
// or, with Environment "", the roles that run on the host itself.
type HostSlot struct{ Environment, Host string }

// HostEnvironment is the environment that was prepared for a slot.
type HostEnvironment struct {
	Environment environment.Environment
	Address     string // of the host, by which the other hosts reach it
}

// slot of an instance: on the host that the workload names, else where its
// environment is.
func (p *Pool) slot(environment string, i *Instance) HostSlot {
	s := HostSlot{environment, i.host}
	if i.OnHost {
		s.Environment = ""
	}
	if s.Host == "" {
		s.Host = p.definition(environment).Host
	}
	return s
}

// hostsNetwork is that between instances on several hosts: the existing one, or one over it
// with a part on each host.
type hostsNetwork struct {
	parts map[string]environment.Spanning // by host; none where instances share their host's network
}

func (n hostsNetwork) Path() string {
	if n.parts != nil {
		return virtnet.OverlayPath
	}
	return "the network between the hosts"
}

func (hostsNetwork) Host() string { return "" } // each instance has its own address

func (n hostsNetwork) Close(ctx context.Context) error {
	errs := []error{}
	for _, part := range n.parts {
		errs = append(errs, part.Close(ctx))
	}
	return errors.Join(errs...)
}

// on is the part of a host; nil for the host's own network.
func (n hostsNetwork) on(host string) environment.Network {
	if part := n.parts[host]; part != nil {
		return part
	}
	return nil
}

// address by which the other instances reach one on a host.
func (n hostsNetwork) address(i *Instance, on HostSlot, address string) (string, error) {
	switch part := n.parts[on.Host]; {
	case part == nil:
		return addressFromHosts(i.Instance, address)
	case i.OnHost:
		return part.Host(), nil
	}
	return i.Address(), nil
}

// between makes the network of instances on several hosts.
func (p *Pool) between(ctx context.Context, r Request, hosts []string) (n hostsNetwork, err error) {
	if !p.bridged(r) {
		return hostsNetwork{}, nil
	}
	addresses := make([]netip.Addr, len(hosts))
	for k, host := range hosts {
		on := p.on(r, host)
		if addresses[k], err = netip.ParseAddr(on.Address); err != nil {
			return n, &Unsupported{fmt.Sprintf("no IPv4 address is known by which the other hosts reach %s (%q)", cmp.Or(host, "this one"), on.Address)}
		}
	}
	for range overlayTries {
		overlay, err := virtnet.NewOverlay(addresses)
		if err != nil {
			return n, err
		}
		if n, err = p.join(ctx, r, overlay, hosts); !errors.Is(err, virtnet.ErrTaken) {
			return n, err
		}
	}
	return n, fmt.Errorf("on %d tries no 256 addresses were free on all of %v: look at the routes there (ip route)", overlayTries, hosts)
}

// overlayTries are enough where a VPN has routes to two thirds of the addresses.
const overlayTries = 20

// bridged reports whether all instances of a request can be in a network over several hosts.
func (p *Pool) bridged(r Request) bool {
	names := []string{r.Environment}
	if slices.ContainsFunc(r.Shape.Roles, func(role study.RoleShape) bool { return role.InBaseline }) {
		names = append(names, p.Plan.Baseline)
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		b, can := p.Environments[name].(environment.Bridged)
		return !can || !b.Bridged()
	})
}

// on is what runs on a host, of a request's environment or of the roles on the host.
func (p *Pool) on(r Request, host string) HostEnvironment {
	if on, is := p.OnHosts[HostSlot{r.Environment, host}]; is {
		return on
	}
	return p.OnHosts[HostSlot{Host: host}]
}

// Joining is an environment on another host, which makes that host's part of an overlay.
type Joining interface {
	Join(ctx context.Context, o virtnet.Overlay) (environment.Spanning, error)
}

// join makes each host's part of an overlay.
func (p *Pool) join(ctx context.Context, r Request, overlay virtnet.Overlay, hosts []string) (n hostsNetwork, err error) {
	n.parts = map[string]environment.Spanning{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close(context.WithoutCancel(ctx)))
		}
	}()
	for own, host := range hosts {
		overlay.Own = own
		on := p.on(r, host)
		var part environment.Spanning
		if there, far := on.Environment.(Joining); far {
			part, err = there.Join(ctx, overlay)
		} else {
			part, err = overlay.Join(p.Owner.ID())
		}
		if err != nil {
			return n, err
		}
		n.parts[host] = part
	}
	for _, part := range n.parts {
		if err := part.Reach(ctx); err != nil {
			return n, err
		}
	}
	return n, nil
}

// addressFromHosts finds out by which address the other hosts reach an instance:
// its host's own, where it shares the host's network or has its ports published
// there. An instance with a network of its own is not reached from other hosts.
func addressFromHosts(i environment.Instance, host string) (string, error) {
	own, err := netip.ParseAddr(i.Address())
	switch {
	case i.Address() == host && host != "":
		return host, nil
	case err != nil:
		return "", &Unsupported{"its instances have no address, and the workload needs instances on several hosts that reach each other"}
	case !own.IsLoopback():
		return "", &Unsupported{fmt.Sprintf("its instances have a network of their own on each host (address %s), which the other hosts do not reach: use a network that shares the host's, such as network: host", own)}
	case host == "":
		return "", &Unsupported{"no address is known by which the other hosts reach this one"}
	}
	return host, nil
}
