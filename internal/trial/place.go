package trial

import (
	"context"
	"fmt"
	"net/netip"

	"tare/internal/environment"
)

// Spot names what runs on a host of the study: an environment of the plan, or
// the host itself ("").
type Spot struct{ Environment, Host string }

// Place is what was made ready at a spot.
type Place struct {
	Environment environment.Environment
	Address     string // of the host, by which the other hosts reach it
}

// spotOf a member: on the host that the workload names, else where its
// environment is.
func (r *Runner) spotOf(name string, m *member) Spot {
	s := Spot{name, m.at}
	if m.onHost {
		s.Environment = ""
	}
	if s.Host == "" {
		s.Host = r.environment(name).Host
	}
	return s
}

// hostsNetwork is what lies between instances on several hosts: nothing that was
// made for them.
type hostsNetwork struct{}

func (hostsNetwork) Path() string                { return "the network between the hosts" }
func (hostsNetwork) Host() string                { return "" } // each member has its own address
func (hostsNetwork) Close(context.Context) error { return nil }

// reachable finds out by which address the other hosts reach an instance: its
// host's own, where it shares the host's network or has its ports published
// there. What has a network of its own is reached from nowhere else.
func reachable(i environment.Instance, host string) (string, error) {
	own, err := netip.ParseAddr(i.Address())
	switch {
	case i.Address() == host && host != "":
		return host, nil
	case err != nil:
		return "", &noNetwork{"its instances have no address, and the workload needs instances on several hosts that reach each other"}
	case !own.IsLoopback():
		return "", &noNetwork{fmt.Sprintf("its instances have a network of their own on each host (address %s), which the other hosts do not reach: give it one that shares the host's, such as network: host", own)}
	case host == "":
		return "", &noNetwork{"no address is known by which the other hosts reach this one"}
	}
	return host, nil
}
