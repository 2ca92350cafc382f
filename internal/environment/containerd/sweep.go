package containerd

import (
	"context"
	"errors"
	"slices"

	"github.com/containerd/containerd/v2/client"

	"tare/internal/environment/support/shims"
	"tare/internal/host/cleanup"
)

// sweep removes the containers and leases of dead owners from the containerd at its usual
// place and from those that the owners noted down.
func sweep(ctx context.Context, home string, dead func(ownerID string) bool) (removed []string, err error) {
	addresses := append(cleanup.Noted(home, addressFile), Address())
	slices.Sort(addresses)
	for _, address := range slices.Compact(addresses) {
		lines, failed := sweepAt(ctx, &manager{options: Options{Address: address}}, home, dead)
		removed, err = append(removed, lines...), errors.Join(err, failed)
	}
	return removed, err
}

// sweepAt sweeps one containerd. One that does not answer holds nothing that could be removed.
func sweepAt(ctx context.Context, m *manager, home string, dead func(ownerID string) bool) (removed []string, err error) {
	c, err := dial(ctx, m.options.Address)
	if err != nil {
		return nil, nil
	}
	defer c.Close()
	left := func(labels map[string]string) bool {
		id := labels[cleanup.Label]
		return id != "" && labels[cleanup.HomeLabel] == home && dead(id)
	}
	done := func(what string, failed error) {
		if failed != nil {
			err = errors.Join(err, failed)
			return
		}
		removed = append(removed, what+" of containerd")
	}
	// One that hangs would keep every command waiting that begins with a sweep.
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	containers, err := c.Containers(asking)
	if err != nil {
		return nil, m.explain("listing the containers of "+home, err)
	}
	containers = slices.DeleteFunc(containers, func(found client.Container) bool {
		labels, failed := found.Labels(asking)
		return failed != nil || !left(labels)
	})
	list, err := c.LeasesService().List(asking)
	err = m.explain("listing the leases of "+home, err)
	for _, found := range containers {
		failed := remove(ctx, m, found)
		done("container "+found.ID(), errors.Join(failed, shims.EndAll(ctx, shims.Serving(found.ID())), shims.EndOverhead(ctx, found.ID())))
	}
	for _, found := range list {
		if left(found.Labels) {
			done("lease "+found.ID, removeLease(ctx, m, c, found))
		}
	}
	return removed, err
}
