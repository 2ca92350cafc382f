package vmi

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// until watches a VirtualMachineInstance until done, which gets nil where there is none.
// The watch begins again if it ends, or if the API server was away.
func (c *cluster) until(ctx context.Context, name string, done func(*unstructured.Unstructured) (bool, error)) error {
	only := fields.OneTermEqualSelector("metadata.name", name).String()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			return c.instances.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			return c.instances.Watch(ctx, o)
		},
	}
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{},
		func(now cache.Store) (bool, error) {
			if len(now.List()) > 0 {
				return false, nil // its event follows
			}
			return done(nil)
		},
		func(e watch.Event) (bool, error) {
			vmi, is := e.Object.(*unstructured.Unstructured)
			switch {
			case e.Type == watch.Deleted:
				return done(nil)
			case !is:
				return false, nil
			}
			return done(vmi)
		})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// How long a reason why a VM does not run may stand before its start has failed: other
// pods end meanwhile, or a node is added; a controller tries again.
const (
	unschedulable = time.Minute
	notYet        = 15 * time.Second
)

var errGone = errors.New("it was deleted by somebody else: by a user, or with its namespace")

// running waits until a VirtualMachineInstance runs and ready says so too.
func (c *cluster) running(ctx context.Context, name string, ready func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var why error
	var timer *time.Timer
	phase, seen := "not made yet", false
	err := c.until(ctx, name, func(vmi *unstructured.Unstructured) (bool, error) {
		if vmi == nil {
			if seen {
				return false, errGone
			}
			return false, nil
		}
		seen = true
		if phase, _, _ = unstructured.NestedString(vmi.Object, "status", "phase"); phase == "" {
			phase = "Pending"
		}
		was := why
		var may time.Duration
		if may, why = failure(vmi); why != nil && may == 0 {
			return false, why
		}
		if timer != nil && (why == nil || was.Error() != why.Error()) {
			timer.Stop()
			timer = nil
		}
		if why != nil && timer == nil {
			stands := fmt.Errorf("for %v: %w", may, why)
			timer = time.AfterFunc(may, func() { cancel(stands) })
		}
		return phase == "Running" && ready(vmi), nil
	})
	if timer != nil {
		timer.Stop()
	}
	if err == nil {
		return nil
	}
	if why != nil && !errors.Is(err, why) {
		err = fmt.Errorf("%w: %w", why, err)
	}
	return fmt.Errorf("virtual machine %s does not run, its phase is %s: %w", name, phase, err)
}

// failure is why a VirtualMachineInstance does not run, and for how long that may stand;
// 0 where it is final.
func failure(vmi *unstructured.Unstructured) (may time.Duration, why error) {
	conditions := ""
	each(vmi.Object, func(c object) {
		if c["status"] != "False" || why != nil {
			return
		}
		text := strings.TrimSpace(fmt.Sprintf("%v: %v", c["reason"], c["message"]))
		switch c["type"] {
		case "PodScheduled":
			may, why = unschedulable, fmt.Errorf("no node takes it: %s", text)
		case "Synchronized":
			may, why = notYet, errors.New(text)
		case "Ready":
			conditions = ": " + text
		}
	}, "status", "conditions")
	phase, _, _ := unstructured.NestedString(vmi.Object, "status", "phase")
	switch {
	case vmi.GetDeletionTimestamp() != nil:
		return 0, errGone
	case (phase == "Failed" || phase == "Succeeded") && why != nil:
		return 0, fmt.Errorf("it ended: %w", why)
	case phase == "Failed" || phase == "Succeeded":
		return 0, fmt.Errorf("it ended%s", conditions)
	}
	return may, why
}

// addressOf is the first IPv4 address that KubeVirt reports of a guest.
func addressOf(vmi *unstructured.Unstructured) (found string) {
	each(vmi.Object, func(card object) {
		reported, _, _ := unstructured.NestedStringSlice(card, "ipAddresses")
		first, _, _ := unstructured.NestedString(card, "ipAddress")
		for _, text := range append([]string{first}, reported...) {
			a, err := netip.ParseAddr(text)
			if found == "" && err == nil && a.Is4() && !a.IsUnspecified() && !a.IsLinkLocalUnicast() && !a.IsLoopback() {
				found = text
			}
		}
	}, "status", "interfaces")
	return found
}
