package containerd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"tare/internal/linux/fsinfo"
)

const (
	// namespace of containerd that everything of tare's is in.
	namespace = "tare"
	// snapshotter that makes the roots: containerd's default on Linux.
	snapshotter = "overlayfs"
	// requestTimeout bounds questions; those that transfer an image have none.
	requestTimeout = 20 * time.Second
	// startTimeout bounds the start of a container: Kata Containers boots a guest for it.
	startTimeout = 2 * time.Minute
	// removalTimeout bounds removals, which wait for containerd's garbage collector.
	removalTimeout = 2 * time.Minute
)

// dial returns a client of the containerd at an address, after a look at its socket: the
// client itself would go on trying.
func dial(ctx context.Context, address string) (*client.Client, error) {
	conn, err := (&net.Dialer{Timeout: requestTimeout}).DialContext(ctx, "unix", address)
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err // which does not name the address once more
	}
	if err != nil {
		return nil, fmt.Errorf("containerd at %s: %w", address, err)
	}
	conn.Close()
	c, err := client.New(address, client.WithDefaultNamespace(namespace), client.WithTimeout(requestTimeout))
	if err != nil {
		return nil, fmt.Errorf("containerd at %s: %w", address, err)
	}
	return c, nil
}

// manager makes containers by one containerd; each call has a connection of its own.
type manager struct{ options Options }

// explain adds to an error what was tried and where.
func (m *manager) explain(tried string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("containerd at %s, %s: %w", m.options.Address, tried, err)
}

// ask calls a function with a client and a bounded context.
func (m *manager) ask(ctx context.Context, do func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	c, err := dial(ctx, m.options.Address)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, c), c.Close())
}

func (m *manager) version(ctx context.Context) (version string, err error) {
	err = m.ask(ctx, func(ctx context.Context, c *client.Client) error {
		v, err := c.Version(ctx)
		version = v.Version
		return m.explain("asking for its version", err)
	})
	return version, err
}

// roots is the directory of the snapshotter.
func (m *manager) roots(ctx context.Context) (directory string, err error) {
	err = m.ask(ctx, func(ctx context.Context, c *client.Client) error {
		found, err := c.IntrospectionService().Plugins(ctx, "type==io.containerd.snapshotter.v1,id=="+snapshotter)
		switch {
		case err != nil:
			return m.explain("asking for its snapshotters", err)
		case len(found.Plugins) == 0:
			return fmt.Errorf("containerd at %s has no snapshotter %s", m.options.Address, snapshotter)
		case found.Plugins[0].InitErr != nil:
			return fmt.Errorf("the snapshotter %s of containerd at %s does not work: %s", snapshotter, m.options.Address, found.Plugins[0].InitErr.Message)
		}
		directory = found.Plugins[0].Exports["root"]
		return nil
	})
	return directory, err
}

// Directory implements oci.Manager.
func (m *manager) Directory() string {
	if directory, err := m.roots(context.Background()); err == nil && directory != "" {
		return directory
	}
	return "/var/lib/containerd"
}

// Roots implements oci.Manager.
func (m *manager) Roots(context.Context) (kind, on string) {
	return "overlay", fsinfo.Of(m.Directory())
}

// Facts implements oci.Manager.
func (m *manager) Facts(ctx context.Context) map[string]string {
	facts := map[string]string{
		"log.channel": "the shim's named pipes", "log.driver": "none",
		"provider[engine]": "containerd", "provider[storage]": snapshotter, "provider[cgroup driver]": "cgroupfs",
		"provider[runtime]": m.options.family(),
	}
	for program, version := range m.Versions(ctx) {
		facts["provider["+program+" version]"] = version
	}
	return facts
}

func absent(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
