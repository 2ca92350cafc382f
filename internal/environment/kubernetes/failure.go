package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"tare/internal/environment/kubernetes/api"
)

// scheduleTimeout is how long a pod may be unschedulable: others end meanwhile, or a
// node is added.
var scheduleTimeout = time.Minute

// terminalReasons are those of waiting containers that will not start by themselves.
var terminalReasons = []string{"ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
	"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"}

// failure is why a pod will not run, or does not any more; nil while it may.
func failure(pod *corev1.Pod) error {
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" { // Evicted, NodeLost, OutOfcpu
		return fmt.Errorf("the pod failed: %s: %s", pod.Status.Reason, strings.TrimSpace(pod.Status.Message))
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && time.Since(pod.CreationTimestamp.Time) > scheduleTimeout {
			return fmt.Errorf("no node takes the pod: %s: %s", c.Reason, c.Message)
		}
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return fmt.Errorf("the pod was disrupted: %s: %s", c.Reason, c.Message)
		}
	}
	if pod.DeletionTimestamp != nil {
		return errDeleted
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Errorf("the container that receives the agent %s; it runs /bin/sh, cat and chmod of image %s: for an image without them name another one with agent_image", ending(t), s.Image)
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && slices.Contains(terminalReasons, w.Reason) {
			return fmt.Errorf("%s: %s%s", w.Reason, strings.TrimSpace(w.Message), imageHint(w.Reason, pod))
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil {
			return fmt.Errorf("the container %s", ending(t))
		}
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return fmt.Errorf("the pod ended: phase %s", pod.Status.Phase)
	}
	return nil
}

// imageHint says how a node gets an image.
func imageHint(reason string, pod *corev1.Pod) string {
	if reason != "ErrImageNeverPull" {
		return ""
	}
	return "; " + howToLoad(pod.Spec.Containers[0].Image, "on node "+pod.Spec.NodeName)
}

// howToLoad says how the nodes get an image that they do not pull.
func howToLoad(reference, where string) string {
	digest, ours := strings.CutPrefix(reference, "localhost/tare:")
	if !ours {
		return fmt.Sprintf("load it %s, or let it be pulled with pull: missing", where)
	}
	save := "sha256:" + digest
	if strings.Contains(digest, "-") { // a digest alone does not say which
		save = "STUDY"
	}
	return fmt.Sprintf("load it %s: `tare save %s FILE` here, and there `ctr -n k8s.io images import FILE` (containerd) or `podman load -i FILE` (CRI-O); or name with image: or images: where the nodes pull it", where, save)
}

// ending says how a container ended.
func ending(t *corev1.ContainerStateTerminated) string {
	text := ""
	switch {
	case t.Reason == "OOMKilled":
		text = "was killed: its memory limit was too small (OOMKilled)"
	case t.Signal != 0:
		text = fmt.Sprintf("was killed by signal %d", t.Signal)
	default:
		text = fmt.Sprintf("ended with exit status %d", t.ExitCode)
		if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
			text += " (" + t.Reason + ")"
		}
	}
	if t.Message != "" {
		text += ": " + strings.TrimSpace(t.Message)
	}
	return text
}

// sandboxFailure finds in the events of a pod why it has no sandbox, such as a handler
// that its node lacks, which its status does not show. The node tries again after another
// failure: once is the note on it, and twice the reason.
func (c *cluster) sandboxFailure(ctx context.Context, pod *corev1.Pod) (once string, err error) {
	if pod.Spec.NodeName == "" || len(pod.Status.PodIPs) > 0 {
		return "", nil
	}
	for _, e := range c.eventsOf(ctx, pod.Name) {
		for _, kept := range []string{"FailedCreatePodSandBox", "FailedMount", "FailedAttachVolume"} {
			times := e.Count
			if e.Series != nil {
				times = max(times, e.Series.Count)
			}
			switch {
			case e.Reason != kept:
			case times > 1 || lacksHandler(e.Message):
				return "", fmt.Errorf("node %s does not start the pod: %s: %s%s", pod.Spec.NodeName, e.Reason, e.Message, handlerHint(e.Message, pod))
			default:
				once = fmt.Sprintf("node %s did not start the pod at once, and its start-up time has the attempt that failed: %s: %s", pod.Spec.NodeName, e.Reason, e.Message)
			}
		}
	}
	return once, nil
}

// lacksHandler knows how containerd and CRI-O refuse a handler that they do not have.
func lacksHandler(message string) bool {
	return strings.Contains(message, "no runtime for") || strings.Contains(message, "failed to find runtime handler")
}

// handlerHint says what to do about it.
func handlerHint(message string, pod *corev1.Pod) string {
	if !lacksHandler(message) || pod.Spec.RuntimeClassName == nil {
		return ""
	}
	return fmt.Sprintf("; the node's container runtime has no handler for the RuntimeClass %s: configure it there, or choose nodes that have it (node_selector:, or scheduling.nodeSelector of the RuntimeClass)", *pod.Spec.RuntimeClassName)
}

// eventsOf a pod; none where they may not be read.
func (c *cluster) eventsOf(ctx context.Context, name string) []corev1.Event {
	list, err := c.events.list(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.name", name).String()})
	if err != nil {
		return nil
	}
	return list
}

// refused explains why the API server did not accept an object.
func refused(err error) error {
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota") {
		return fmt.Errorf("%w; the namespace's ResourceQuota does not suffice: lower limits:, or raise the quota", err)
	}
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "must specify") {
		return fmt.Errorf("%w; the namespace's ResourceQuota needs limits: cpus: and memory: in the study", err)
	}
	return err
}

// whyTime is how long the API server may take to know what became of a pod. It learns it
// from the node, which reports an eviction some time after the container has ended.
var whyTime = 10 * time.Second

// why says what became of a pod whose stream broke; nil where the pod runs.
func (c *cluster) why(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), whyTime)
	defer cancel()
	var last *corev1.Pod
	_, err := c.await(ctx, name, func(pod *corev1.Pod) (bool, error) {
		if last = pod; endedItself(pod) {
			return false, nil // as it does without a stream, or told to by a kubelet that reports why later
		}
		return false, failure(pod)
	}, func(pod *corev1.Pod) error { return cmp.Or(c.notReady(ctx, pod.Spec.NodeName), c.evicted(ctx, pod)) })
	switch {
	case errors.Is(err, api.ErrUnavailable), last == nil && errors.Is(err, context.DeadlineExceeded):
		return api.ErrUnavailable
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	case endedItself(last):
		return nil
	}
	return fmt.Errorf("node %s does not say what became of the pod: the node is lost, or the API server does not reach it", last.Spec.NodeName)
}

// evicted finds in the events of a pod that its kubelet evicts it: it reports that in the
// pod's status long after the containers have ended.
func (c *cluster) evicted(ctx context.Context, pod *corev1.Pod) error {
	for _, e := range c.eventsOf(ctx, pod.Name) {
		if e.Reason == "Evicted" {
			return fmt.Errorf("the pod was evicted by its node %s: %s", pod.Spec.NodeName, strings.TrimSpace(e.Message))
		}
	}
	return nil
}

// endedItself says whether nothing but the end of the pod's container is known.
func endedItself(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Reason == "" &&
		slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		}) && !slices.ContainsFunc(pod.Status.Conditions, func(d corev1.PodCondition) bool {
		return d.Type == corev1.DisruptionTarget && d.Status == corev1.ConditionTrue
	})
}

// nodeTimeout is how long a node may not be ready: all are for a moment after the API
// server was away.
var nodeTimeout = 15 * time.Second

// lost is why a node runs no pods, where that may not pass: after nodeTimeout.
func (c *cluster) lost(ctx context.Context, node string, since time.Time) error {
	if time.Since(since) < nodeTimeout {
		return nil
	}
	return c.notReady(ctx, node)
}

// notReady is why a node runs no pods now; nil where it does, or where nodes may not be
// read.
func (c *cluster) notReady(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	node, err := c.nodes.get(ctx, name)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("node %s does not exist any more", name)
	}
	if err != nil {
		return nil
	}
	for _, d := range node.Status.Conditions {
		if d.Type == corev1.NodeReady && d.Status != corev1.ConditionTrue {
			return fmt.Errorf("node %s is not ready: %s: %s", name, d.Reason, strings.TrimSpace(d.Message))
		}
	}
	return nil
}

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
			return c.pods.get(ctx, name)
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
	w, err := c.pods.client.Watch(within, metav1.ListOptions{
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
			sent, is := e.Object.(*unstructured.Unstructured)
			switch {
			case !open || e.Type == watch.Error:
				events = nil
			case e.Type == watch.Deleted:
				return pod, false, errDeleted
			case is && sent.GetName() == pod.Name:
				now, err := typed[corev1.Pod](sent, nil)
				if err != nil {
					return pod, false, err
				}
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
