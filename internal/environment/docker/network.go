package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/linux/virtnet"
)

// network is a bridge network of an engine, made for the containers of one
// owner.
type network struct {
	engine    *engine
	id        string // "" until it was made
	name      string
	directory string
	gateway   string
	path      string

	mu     sync.Mutex
	closed bool
}

// Networks is what the networks of containers with these options are part of.
func Networks(o Options) string { return theDocker.networks(o) }

func (b brand) networks(o Options) string {
	if o.Network != "bridge" {
		return ""
	}
	return "the " + b.name + " at " + o.Socket
}

// hostOnly is the network of containers whose ports are at the host's loopback, which
// containers do not reach.
type hostOnly struct{ *network }

// HostOnly marks it.
func (hostOnly) HostOnly() {}

// apart is a network in a namespace of a rootless engine's.
type apart struct {
	environment.Network
	of string
}

// Enclosed says why.
func (a apart) Enclosed() string {
	return "the networks of a rootless " + a.of + " are in a network namespace of the engine, which programs on the host cannot reach: place no role on the host, or use an engine that runs as root"
}

// apart says whether the containers' network is in a namespace of the engine's: that of a
// rootless one is, and a rootless Docker's own, which it calls the host's.
func (c *containers) apart(ctx context.Context) bool {
	info, err := c.engine.info(ctx)
	if err != nil || !c.engine.rootless(info) || c.options.published() {
		return false
	}
	return c.options.Network != "host" || c.engine.inNamespace(ctx)
}

// inNamespace says whether the engine itself has a network of its own, by RootlessKit.
func (e *engine) inNamespace(ctx context.Context) bool {
	server, err := e.replies.version(ctx, e)
	return err == nil && slices.ContainsFunc(server.Components, func(c system.ComponentVersion) bool {
		return c.Name == "rootlesskit" && c.Details["NetworkDriver"] != "host"
	})
}

// NewNetwork makes a bridge network in the engine. Containers in the host's network get
// loopback addresses instead.
func (c *containers) NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (environment.Network, error) {
	n, err := c.newNetwork(ctx, o, name)
	if err == nil && c.apart(ctx) {
		n = apart{n, c.engine.name}
	}
	return n, err
}

func (c *containers) newNetwork(ctx context.Context, o *cleanup.Owner, name string) (_ environment.Network, err error) {
	if c.options.Network == "host" {
		return virtnet.Loopback{}, nil
	}
	n := &network{engine: c.engine, name: "tare-" + o.ID() + "-" + name, path: "the engine's bridge, one veth pair each"}
	if c.gvisor {
		n.path = "the engine's bridge, one veth pair and gVisor's network stack each"
	}
	if c.options.Network == "publish" {
		n.path = "ports published at an address of the host each, " + n.path
	}
	if c.options.onLoopback() {
		n.path = "ports published at the host's loopback, " + n.path
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close(context.WithoutCancel(ctx)))
		}
	}()
	// A directory as an instance has it, in which a sweep finds the engine's address.
	if n.directory, err = o.Directory("network-" + name); err != nil {
		return nil, err
	}
	if err := c.engine.remember(n.directory); err != nil {
		return nil, err
	}
	// Not canceled with the context: the network's id would be unknown.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), environment.ContainerStop.Kill)
	defer cancel()
	made, err := c.engine.api.NetworkCreate(whole, n.name, client.NetworkCreateOptions{
		Driver: "bridge",
		// network: none has no route out.
		Internal: c.options.Network == "none",
		Options:  c.engine.masquerading(c.options.Network),
		Labels:   o.Labels(),
	})
	if err != nil {
		return nil, c.engine.explain("making a network", err)
	}
	n.id = made.ID
	n.gateway, err = c.engine.gateway(whole, n.id)
	if err != nil && c.options.Network == "none" {
		err = fmt.Errorf("%w; this engine's internal networks have no address of the host: use network: bridge", err)
	}
	if err != nil {
		return nil, err
	}
	if c.options.onLoopback() {
		return hostOnly{n}, nil
	}
	return n, nil
}

// gateway is the host's address on a network of the engine's.
func (e *engine) gateway(ctx context.Context, id string) (string, error) {
	found, err := e.api.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	if err != nil {
		return "", e.explain("finding the host's address on a network", err)
	}
	for _, c := range found.Network.IPAM.Config {
		if c.Gateway.Is4() {
			return c.Gateway.String(), nil
		}
	}
	return "", fmt.Errorf("%s at %s made a network without an IPv4 address of the host", e.name, e.host)
}

// Path of a packet between two containers.
func (n *network) Path() string { return n.path }

// Host is the bridge's own address.
func (n *network) Host() string { return n.gateway }

// Close removes the network, with its bridge and the rules for it.
func (n *network) Close(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	if n.id != "" {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), environment.ContainerStop.Kill)
		defer cancel()
		if _, err := n.engine.api.NetworkRemove(bound, n.id, client.NetworkRemoveOptions{}); err != nil && !notFound(err) {
			return n.engine.explain("removing the network "+n.name, err)
		}
	}
	n.closed = true
	return os.RemoveAll(n.directory)
}

// masquerading are the options of a network with NAT. Podman masquerades every bridge
// and has no such option.
func (e *engine) masquerading(network string) map[string]string {
	if network != "nat" || e.brand.name != theDocker.name {
		return nil
	}
	return map[string]string{"com.docker.network.bridge.enable_ip_masquerade": "true"}
}

// join returns the network mode of the container, and sets its address.
func (c *containers) join(ctx context.Context, i *instance, r environment.Request) (_ container.NetworkMode, err error) {
	option := c.options.Network
	if c.options.published() {
		if i.published, err = c.options.newPublishedAddress(r.Owner.ID()); err != nil {
			return "", err
		}
		i.IP, option = i.published.at.String(), "bridge"
	}
	between := r.Network
	if n, is := between.(apart); is {
		between = n.Network
	}
	switch n := between.(type) {
	case nil:
		switch option {
		case "host":
			i.IP = virtnet.HostAddress
		case "nat":
			made, err := c.newNetwork(ctx, r.Owner, r.Name)
			if err != nil {
				return "", err
			}
			i.own = made.(*network)
			return container.NetworkMode(i.own.id), nil
		}
		return container.NetworkMode(option), nil
	case *network:
		return container.NetworkMode(n.id), nil
	case hostOnly:
		return container.NetworkMode(n.id), nil
	}
	loopback, err := virtnet.ClaimLoopback(between)
	if err != nil {
		return "", err
	}
	i.loopback, i.IP = loopback, loopback.Address.String()
	return container.NetworkMode(option), nil
}

// addressOf is the container's IPv4 address on its network; "" for none.
func addressOf(c container.InspectResponse) string {
	if c.NetworkSettings == nil {
		return ""
	}
	for _, at := range c.NetworkSettings.Networks {
		if at != nil && at.IPAddress.Is4() {
			return at.IPAddress.String()
		}
	}
	return ""
}
