package instances

import (
	"context"
	"fmt"
	"net/netip"

	"tare/internal/environment"
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

// hostsNetwork stands for the existing network between instances on several
// hosts.
type hostsNetwork struct{}

func (hostsNetwork) Path() string                { return "the network between the hosts" }
func (hostsNetwork) Host() string                { return "" } // each instance has its own address
func (hostsNetwork) Close(context.Context) error { return nil }

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
