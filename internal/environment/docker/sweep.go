package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/moby/client"

	"tare/internal/host/cleanup"
	"tare/internal/linux/cgroup"
)

// hostFile stands in an instance's directory and says where its engine is, when
// that is not the usual place.
const hostFile = "engine"

// remember makes a later sweep look at this engine too.
func (e *engine) remember(directory string) error {
	if e.host == e.brand.host() {
		return nil
	}
	if err := os.WriteFile(filepath.Join(directory, hostFile), []byte(e.host), 0o644); err != nil {
		return fmt.Errorf("recording the address of the engine: %w", err)
	}
	return nil
}

// sweep removes the containers, volumes and networks of dead owners from the
// engine at its usual place and from those that the owners noted down.
func (b brand) sweep(ctx context.Context, home string, dead func(ownerID string) bool) ([]string, error) {
	hosts := []string{b.host()}
	for _, host := range cleanup.Noted(home, hostFile) {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	var removed []string
	var problems []error
	for _, host := range hosts {
		lines, err := b.sweepAt(ctx, host, home, dead)
		removed, problems = append(removed, lines...), append(problems, err)
	}
	return removed, errors.Join(problems...)
}

// sweepAt sweeps one engine. One that does not answer holds nothing that could
// be removed.
func (b brand) sweepAt(ctx context.Context, host, home string, dead func(ownerID string) bool) ([]string, error) {
	e, err := b.at(host)
	if err != nil || e.unreachable(ctx) != nil {
		return nil, nil
	}
	defer e.api.Close()
	left := func(labels map[string]string) bool {
		id := labels[cleanup.Label]
		return id != "" && labels[cleanup.HomeLabel] == home && dead(id)
	}
	ours := make(client.Filters).Add("label", cleanup.HomeLabel+"="+home)
	var removed []string
	var problems []error
	done := func(what string, err error) {
		if err != nil && !notFound(err) {
			problems = append(problems, e.explain("removing "+what, err))
			return
		}
		removed = append(removed, fmt.Sprintf("%s of the %s", what, e.name))
	}

	containers, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return nil, e.explain("listing the containers of "+home, err)
	}
	for _, c := range containers.Items {
		// A container has the labels of its image too, so they do not tell who started it.
		// Its name does.
		if left(c.Labels) && slices.ContainsFunc(c.Names, func(name string) bool { return strings.HasPrefix(name, "/"+containerName(c.Labels[cleanup.Label], "")) }) {
			e.thaw(ctx, c.ID)
			err := e.removeContainer(ctx, c.ID)
			done(fmt.Sprintf("container %.12s", c.ID), errors.Join(err, endHelpers(ctx, c.ID, "")))
		}
	}
	volumes, err := e.api.VolumeList(ctx, client.VolumeListOptions{Filters: ours})
	if err != nil {
		problems = append(problems, e.explain("listing the volumes of "+home, err))
	}
	for _, v := range volumes.Items {
		if left(v.Labels) {
			_, err := e.api.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{Force: true})
			done("volume "+v.Name, err)
		}
	}
	networks, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	if err != nil {
		problems = append(problems, e.explain("listing the networks of "+home, err))
	}
	for _, n := range networks.Items {
		if left(n.Labels) {
			_, err := e.api.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
			done("network "+n.Name, err)
		}
	}
	return removed, errors.Join(problems...)
}

// thaw thaws a container that tare has frozen: with cgroup v1 it does not end on SIGKILL.
// Its cgroup may be outside of tare's, where package cleanup does not look. An error
// shows in the removal that follows.
func (e *engine) thaw(ctx context.Context, id string) {
	inspected, err := e.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil || inspected.Container.State == nil || inspected.Container.State.Pid == 0 {
		return
	}
	if group, err := cgroup.Of(inspected.Container.State.Pid); err == nil && strings.Contains(group.Path(), id) {
		_ = group.Thaw()
	}
}
