package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// lookAgain is how often a pod is read besides being watched: a watch can be late.
const lookAgain = 3 * time.Second

// errDeleted is the reason where somebody else deleted a pod.
var errDeleted = errors.New("the pod was deleted by somebody else: by a user, a drain or eviction, or with its namespace or node")

// await returns when done reports that a pod is as it should be, or its error. It
// watches the pod, and reads it again now and then, with again for what a pod's status
// does not show.
func (c *cluster) await(ctx context.Context, name string, done func(*corev1.Pod) (bool, error), again func(*corev1.Pod) error) (*corev1.Pod, error) {
	for first := true; ; first = false {
		pod, err := retry(ctx, "reading pod "+name, func(ctx context.Context) (*corev1.Pod, error) {
			return c.core.Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		})
		if apierrors.IsNotFound(err) {
			return nil, errDeleted
		}
		if err != nil {
			return nil, err
		}
		if ok, err := done(pod); ok || err != nil {
			return pod, err
		}
		if !first && again != nil {
			if err := again(pod); err != nil {
				return pod, err
			}
		}
		pod, ok, err := c.watch(ctx, pod, done)
		if ok || err != nil {
			return pod, err
		}
	}
}

// watch follows a pod until it is time to look again.
func (c *cluster) watch(ctx context.Context, pod *corev1.Pod, done func(*corev1.Pod) (bool, error)) (*corev1.Pod, bool, error) {
	within, cancel := context.WithTimeout(ctx, lookAgain) // also of a watch that is not answered
	defer cancel()
	var events <-chan watch.Event // nil, for ever silent, where there is no watch
	w, err := c.core.Pods(c.Namespace).Watch(within, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", pod.Name).String(), ResourceVersion: pod.ResourceVersion,
	})
	if err == nil {
		defer w.Stop()
		events = w.ResultChan()
	} else if apierrors.IsForbidden(err) {
		return pod, false, fmt.Errorf("watching pod %s: %w", pod.Name, err)
	}
	for {
		select {
		case e, open := <-events:
			now, is := e.Object.(*corev1.Pod)
			switch {
			case !open || e.Type == watch.Error:
				events = nil
			case e.Type == watch.Deleted:
				return pod, false, errDeleted
			case is && now.Name == pod.Name:
				if ok, err := done(now); ok || err != nil {
					return now, ok, err
				}
			}
		case <-within.Done():
			return pod, false, context.Cause(ctx) // nil while it is only time to look again
		}
	}
}

// gone waits until a pod does not exist any more, but not for a node that is lost: that
// would not end it.
func (c *cluster) gone(ctx context.Context, name string) error {
	began := time.Now()
	_, err := c.await(ctx, name, func(*corev1.Pod) (bool, error) { return false, nil },
		func(pod *corev1.Pod) error { return c.lost(ctx, pod.Spec.NodeName, began) })
	if errors.Is(err, errDeleted) {
		return nil
	}
	return err
}
