package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/linux/virtnet"
	"tare/internal/sample"
)

// seat is an instance's place in a network.
type seat struct {
	space   string // of its network namespace; "" for a fresh one or the host's
	address string
	path    string           // of a packet
	traffic sample.Footprint // where its bytes are counted
	inside  bool             // they are counted in the namespace of its first process
	user    bool             // a process of its own carries the packets
}

// path is what a packet passes; gVisor has a network stack of its own before it,
// but in the host's network, or where it is left out.
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

// join gives the instance its place, and says how it is given back.
func (e *environ) join(ctx context.Context, r environment.Request) (_ *seat, release func() error, err error) {
	nothing := func() error { return nil }
	if r.Network == nil {
		switch e.options.Network {
		case "host":
			return &seat{address: virtnet.HostAddress, path: e.path("the host's network stack")}, nothing, nil
		case "none":
			s := &seat{path: "none: a loopback of its own"}
			if !e.options.gvisor() {
				return s, nothing, nil
			}
			// It takes over the addresses that it finds, and a namespace that it
			// makes itself has none: its loopback is down.
			return s.alone()
		case "user":
			return (&seat{inside: true, user: true, path: e.path("tap, slirp4netns, the host's sockets")}).alone()
		}
		// A bridge of its own, as nobody else is to reach it.
		own, err := e.NewNetwork(ctx, r.Owner, r.Name)
		if err != nil {
			return nil, nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, own.Close(ctx))
			}
		}()
		s, leave, err := plug(own)
		if err != nil {
			return nil, nil, err
		}
		s.path = e.path("veth pair, a bridge of tare's for it alone, veth pair")
		if e.options.Network == "nat" {
			s.path = e.path("veth pair, a bridge of tare's for it alone, NAT, veth pair")
		}
		return s, func() error { return errors.Join(leave(), own.Close(context.Background())) }, nil
	}
	return plug(r.Network)
}

// alone puts a seat into a namespace with a loopback that is up.
func (s *seat) alone() (*seat, func() error, error) {
	space, err := virtnet.Alone()
	if err != nil {
		return nil, nil, err
	}
	s.space = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), space.Fd())
	return s, space.Close, nil
}

// plug takes a place at a network that is there.
func plug(n environment.Network) (*seat, func() error, error) {
	if bridge, ok := n.(*virtnet.Bridge); ok {
		port, err := bridge.Namespace()
		if err != nil {
			return nil, nil, err
		}
		return &seat{space: port.Path(), address: port.Address.Addr().String(), path: n.Path(),
			traffic: sample.Footprint{Devices: []string{port.Device}, Space: bridge.Space()}}, port.Close, nil
	}
	at, err := virtnet.Join(n)
	if err != nil {
		return nil, nil, err
	}
	return &seat{address: at.Address.String(), path: n.Path()}, at.Close, nil
}

// slirp is the program that is the user-mode network.
const slirp = "slirp4netns"

// carry starts the program that carries the packets of a namespace through
// sockets of the host, and returns when it is ready. It ends when its life does,
// or tare.
func carry(ctx context.Context, space string, adopt adopter, console io.Writer) (_ *process, err error) {
	theirs, ours, err := os.Pipe() // it ends when our end is closed
	if err != nil {
		return nil, err
	}
	ready, said, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirs.Close(), ours.Close())
	}
	defer ready.Close()
	c := before{}.command(slirp, "--configure", "--mtu=65520", "--disable-host-loopback", "--exit-fd=3", "--ready-fd=4", "--netns-type=path", space, "tap0")
	c.ExtraFiles, c.Stdout, c.Stderr = []*os.File{theirs, said}, console, console
	p, err := start(c, "proxy", adopt, ours.Close)
	theirs.Close()
	said.Close()
	if err != nil {
		return nil, fmt.Errorf("starting the user-mode network: %w", errors.Join(err, ours.Close()))
	}
	told := make(chan error, 1)
	go func() { _, err := ready.Read(make([]byte, 1)); told <- err }()
	select {
	case err = <-told:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return p, fmt.Errorf("waiting for the user-mode network of %s: %w", slirp, err)
	}
	return p, nil
}

// available says whether a program is on the PATH.
func available(name string) bool { _, err := exec.LookPath(name); return err == nil }
