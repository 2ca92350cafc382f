package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/linux/virtnet"
	"tare/internal/usage"
)

// attachment is how an instance is attached to a network.
type attachment struct {
	space   string // of its network namespace; "" for a fresh one or the host's
	address string
	path    string          // of a packet
	traffic usage.Footprint // where its bytes are counted
	inside  bool            // the bytes are counted in the namespace of its first process
	user    bool            // slirp4netns forwards the packets
}

// path is what a packet passes, starting with gVisor's network stack where it is
// used.
func (e *environ) path(words string) string {
	if e.options.gvisor() && e.options.Network != "host" && e.options.Gvisor.Netstack {
		return "gVisor's network stack, " + words
	}
	return words
}

// NewNetwork makes a bridge, at which each instance has a veth pair; instances in
// the host's network get addresses of its loopback.
func (e *environ) NewNetwork(_ context.Context, o *cleanup.Owner, _ string) (environment.Network, error) {
	switch e.options.Network {
	case "host":
		return virtnet.Loopback{}, nil
	case "nat":
		return virtnet.NewNAT(o.ID(), e.path("a bridge, one veth pair each; address translation on the way out"))
	}
	return virtnet.NewBridge(o.ID(), e.path("a bridge, one veth pair each"))
}

// Bridged reports whether instances that meet are at a bridge.
func (e *environ) Bridged() bool { return e.options.Network != "host" && e.options.Network != "nat" }

// join attaches the instance to its network; leave detaches it.
func (e *environ) join(ctx context.Context, r environment.Request) (_ *attachment, leave func() error, err error) {
	nothing := func() error { return nil }
	if r.Network == nil {
		switch e.options.Network {
		case "host":
			return &attachment{address: virtnet.HostAddress, path: e.path("the host's network stack")}, nothing, nil
		case "none":
			s := &attachment{path: "none: only a loopback device"}
			if !e.options.gvisor() {
				return s, nothing, nil
			}
			// gVisor takes over the addresses of its namespace, and in a namespace that
			// it makes itself the loopback is down.
			return s.inNewNamespace()
		case "user":
			return (&attachment{inside: true, user: true, path: e.path("tap, slirp4netns, the host's sockets")}).inNewNamespace()
		}
		// A bridge for this instance alone, so that no other instance reaches it.
		own, err := e.NewNetwork(ctx, r.Owner, r.Name)
		if err != nil {
			return nil, nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, own.Close(ctx))
			}
		}()
		s, leave, err := attach(own)
		if err != nil {
			return nil, nil, err
		}
		s.path = e.path("veth pair, a separate bridge of tare, veth pair")
		if e.options.Network == "nat" {
			s.path = e.path("veth pair, a separate bridge of tare, NAT, veth pair")
		}
		return s, func() error { return errors.Join(leave(), own.Close(context.Background())) }, nil
	}
	return attach(r.Network)
}

// inNewNamespace attaches to a new network namespace whose loopback is up.
func (s *attachment) inNewNamespace() (*attachment, func() error, error) {
	space, err := virtnet.Alone()
	if err != nil {
		return nil, nil, err
	}
	s.space = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), space.Fd())
	return s, space.Close, nil
}

// attach attaches to an existing network.
func attach(n environment.Network) (*attachment, func() error, error) {
	if bridge, ok := n.(*virtnet.Bridge); ok {
		port, err := bridge.Namespace()
		if err != nil {
			return nil, nil, err
		}
		return &attachment{space: port.Path(), address: port.Address.Addr().String(), path: n.Path(),
			traffic: usage.Footprint{Devices: []string{port.Device}, Space: bridge.Space()}}, port.Close, nil
	}
	at, err := virtnet.ClaimLoopback(n)
	if err != nil {
		return nil, nil, err
	}
	return &attachment{address: at.Address.String(), path: n.Path()}, at.Close, nil
}

// slirp is the program of the user-mode network.
const slirp = "slirp4netns"

// startSlirp4netns starts the user-mode network of a namespace and returns when it is
// ready. slirp4netns exits when exitW is closed, as it also is when tare dies.
func startSlirp4netns(ctx context.Context, space string, adopt adopter, console io.Writer) (_ *process, err error) {
	exitR, exitW, err := os.Pipe() // for --exit-fd
	if err != nil {
		return nil, err
	}
	readyR, readyW, err := os.Pipe() // for --ready-fd
	if err != nil {
		return nil, errors.Join(err, exitR.Close(), exitW.Close())
	}
	defer readyR.Close()
	c := preparation{}.command(slirp, "--configure", "--mtu=65520", "--disable-host-loopback", "--exit-fd=3", "--ready-fd=4", "--netns-type=path", space, "tap0")
	c.ExtraFiles, c.Stdout, c.Stderr = []*os.File{exitR, readyW}, console, console
	p, err := start(c, "proxy", adopt, exitW.Close)
	exitR.Close()
	readyW.Close()
	if err != nil {
		return nil, fmt.Errorf("starting the user-mode network: %w", errors.Join(err, exitW.Close()))
	}
	ready := make(chan error, 1)
	crash.Go(func() { _, err := readyR.Read(make([]byte, 1)); ready <- err })
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return p, fmt.Errorf("waiting until %s is ready: %w", slirp, err)
	}
	return p, nil
}
