package kubernetes

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/usage"
)

// Find finds a pod of this node by its UID.
func (p *pods) Find(_ context.Context, uid string) (environment.Instance, error) {
	i := &instance{options: p.options, pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}}
	if err := i.find(); err != nil {
		return nil, err
	}
	f := &found{at: i}
	f.More.Facts, f.More.Unknown = i.seen.facts, i.seen.unknown
	return f, nil
}

// found is a pod that the API server started, as its node sees it.
type found struct {
	environment.Started
	at *instance
}

func (f *found) Footprint() usage.Footprint       { return f.at.footprint }
func (f *found) Freeze(ctx context.Context) error { return f.at.Freeze(ctx) }
func (f *found) Thaw(ctx context.Context) error   { return f.at.Thaw(ctx) }

// Stop lets a frozen pod go on: it ends when the API server says so.
func (f *found) Stop(ctx context.Context) error { return f.at.Thaw(ctx) }

// Freeze freezes all containers of the pod, if its node is this machine.
func (i *instance) Freeze(ctx context.Context) error {
	if i.freezer == nil {
		return fmt.Errorf("freezing the pod: %w: node %s is another machine; usage: node freezes it there", errors.ErrUnsupported, i.pod.Spec.NodeName)
	}
	if i.sandboxed {
		return fmt.Errorf("freezing the pod: %w; which platform runsc uses is in the node's configuration", oci.ErrSystrap)
	}
	return i.freezer.Freeze(ctx)
}

// Thaw lets the pod go on.
func (i *instance) Thaw(ctx context.Context) error {
	if i.freezer == nil {
		return nil
	}
	return i.freezer.Thaw(ctx)
}

// thaw lets a pod go on that a dead coordinator froze on this machine: it could not end.
func thaw(uid types.UID) error {
	group, err := podGroup(string(uid))
	if err != nil {
		return nil // it runs elsewhere, or not any more
	}
	return group.Thaw()
}
