package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

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
	proxy   string          // the program that forwards the packets; "" for none
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
		case "user", "pasta":
			proxy := proxies[e.options.Network]
			return (&attachment{inside: true, proxy: proxy, path: e.path("tap, " + proxy + ", the host's sockets")}).inNewNamespace()
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

// proxies are the programs of user-mode networks, by the option's value.
var proxies = map[string]string{"user": "slirp4netns", "pasta": "pasta"}

// startProxy starts the program of a user-mode network, and returns when it is ready.
func (i *instance) startProxy(ctx context.Context, adopt adopter, console io.Writer) error {
	start := i.startSlirp4netns
	if i.network.proxy == "pasta" {
		start = i.startPasta
	}
	ready, err := start(adopt, console)
	if err != nil {
		return fmt.Errorf("starting the user-mode network: %w", err)
	}
	said := make(chan error, 1)
	crash.Go(func() { _, err := ready.Read(make([]byte, 1)); said <- err })
	select {
	case err = <-said:
	case <-i.helpers[len(i.helpers)-1].ended:
		err = errors.New("it has ended")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err = errors.Join(err, ready.Close()); err != nil {
		return fmt.Errorf("waiting until %s is ready: %w", i.network.proxy, err)
	}
	return nil
}

// startSlirp4netns returns the file from which something can be read once it is ready. It
// exits when exitW is closed, as it also is when tare dies.
func (i *instance) startSlirp4netns(adopt adopter, console io.Writer) (ready *os.File, err error) {
	exitR, exitW, err := os.Pipe() // for --exit-fd
	if err != nil {
		return nil, err
	}
	defer exitR.Close()
	readyR, readyW, err := os.Pipe() // for --ready-fd
	if err != nil {
		return nil, errors.Join(err, exitW.Close())
	}
	defer readyW.Close()
	c := preparation{}.command("slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", "--exit-fd=3", "--ready-fd=4", "--netns-type=path", i.network.space, "tap0")
	c.ExtraFiles = []*os.File{exitR, readyW}
	if err := i.help(c, console, adopt, exitW.Close); err != nil {
		return nil, errors.Join(err, readyR.Close(), exitW.Close())
	}
	return readyR, nil
}

// startPasta returns the file from which something can be read once it is ready. pasta gives
// up the privilege of opening another process' namespace before it opens the one that it is
// told: it is mounted at a file. It writes its PID when it is ready.
func (i *instance) startPasta(adopt adopter, console io.Writer) (ready *os.File, err error) {
	space, pid := filepath.Join(i.directory, "pasta.netns"), filepath.Join(i.directory, "pasta.ready")
	if err := os.WriteFile(space, nil, 0o600); err != nil {
		return nil, err
	}
	if err := syscall.Mkfifo(pid, 0o600); err != nil {
		return nil, err
	}
	// With a writer of its own nobody waits for the other end.
	if ready, err = os.OpenFile(pid, os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
		return nil, err
	}
	c := preparation{mounts: []mount{{"none", "bind", i.network.space, space}}}.command("pasta", "--foreground", "--quiet", "--config-net", "--runas", "0",
		"--no-map-gw", "-t", "none", "-u", "none", "-T", "none", "-U", "none", "--netns", space, "--pid", pid)
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL // it watches nobody itself
	if err := i.help(c, console, adopt, nil); err != nil {
		return nil, errors.Join(err, ready.Close())
	}
	return ready, nil
}

// help starts a process for the instance.
func (i *instance) help(c *exec.Cmd, console io.Writer, adopt adopter, requestExit func() error) error {
	c.Stdout, c.Stderr = console, console
	p, err := start(c, "proxy", adopt, requestExit)
	if err == nil {
		i.helpers = append(i.helpers, p)
	}
	return err
}
