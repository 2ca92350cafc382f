package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"tare/internal/environment/kubernetes/api"
	"tare/internal/image"
)

func waiting(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
}

func terminated(t corev1.ContainerStateTerminated) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &t}}}}
}

func condition(kind corev1.PodConditionType, is corev1.ConditionStatus, reason, message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: kind, Status: is, Reason: reason, Message: message}}}
}

func TestAPodThatDoesNotRunSaysWhy(t *testing.T) {
	for _, c := range []struct {
		status corev1.PodStatus
		want   string
	}{
		{corev1.PodStatus{Phase: corev1.PodPending}, ""},
		{waiting("ContainerCreating", ""), ""},
		{waiting("ErrImagePull", "it is tried again"), ""},
		{waiting("ImagePullBackOff", "Back-off pulling image"), "ImagePullBackOff: Back-off pulling image"},
		{waiting("ErrImageNeverPull", "Container image is not present"), "ErrImageNeverPull: Container image is not present; load it on node n: `tare save sha256:12ab FILE`"},
		{waiting("CreateContainerError", "no such handler"), "CreateContainerError: no such handler"},
		{terminated(corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}), "its memory limit was too small (OOMKilled)"},
		{terminated(corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}), "the container ended with exit status 2"},
		{corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}, "the pod failed: Evicted: The node was low on resource: memory."},
		{condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available"), "no node takes the pod: Unschedulable: 0/3 nodes are available"},
		{condition(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByTaintManager", "its node is gone"), "the pod was disrupted: DeletionByTaintManager"},
		{corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 127}}}}}, "the container that receives the agent ended with exit status 127"},
	} {
		pod := &corev1.Pod{Status: c.status, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Image: "localhost/tare:12ab"}}}}
		pod.CreationTimestamp = metav1.NewTime(time.Now().Add(-2 * scheduleTimeout))
		err := failure(pod)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.status, err, c.want)
		}
	}
}

// simulated is a cluster without nodes, in memory.
func simulated(objects ...runtime.Object) (*cluster, *fake.FakeDynamicClient) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(types); err != nil {
			panic(err)
		}
	}
	set := fake.NewSimpleDynamicClient(types, objects...)
	c := &cluster{address: address{Namespace: "tare", Server: "https://simulated"}}
	c.use(set)
	return c, set
}

func TestAPodThatSomebodyDeletesIsNoticed(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "tare"}}
	c, set := simulated(pod)
	watched := make(chan struct{})
	set.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		close(watched)
		return false, nil, nil
	})
	go func() {
		<-watched
		_ = c.pods.delete(context.Background(), "p", metav1.DeleteOptions{})
	}()
	_, err := c.await(t.Context(), "p", func(*corev1.Pod) (bool, error) { return false, nil }, nil)
	if !errors.Is(err, errDeleted) {
		t.Error(err)
	}
}

func TestAWatchThatIsSilentDoesNotHoldUp(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "tare"}}
	c, set := simulated(pod)
	set.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, silent{}, nil
	})
	twice := func(c *cluster) {
		reads := 0
		_, err := c.await(t.Context(), "p", func(*corev1.Pod) (bool, error) { reads++; return reads == 2, nil }, nil)
		if err != nil || reads != 2 {
			t.Errorf("%d reads: %v", reads, err)
		}
	}
	twice(c)
	// Not even its request is answered.
	c.pods.client = unanswered{c.pods.client}
	twice(c)
}

// unanswered are pods whose watches begin never.
type unanswered struct{ dynamic.ResourceInterface }

func (unanswered) Watch(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAHandlerThatANodeLacksIsFoundInTheEvents(t *testing.T) {
	class := "kata"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n", RuntimeClassName: &class}}
	for _, said := range []string{
		`Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "kata" is configured`,                           // containerd
		`Failed to create pod sandbox: rpc error: code = Unknown desc = failed to find runtime handler kata from runtime list map[runc:0xc000] passed to the runtime`, // CRI-O
	} {
		c, _ := simulated(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "tare"}, InvolvedObject: corev1.ObjectReference{Name: "p"},
			Reason: "FailedCreatePodSandBox", Message: said, Count: 1})
		want := "node n does not start the pod: FailedCreatePodSandBox: " + said + "; the node's container runtime has no handler for the RuntimeClass kata: "
		if _, err := c.sandboxFailure(t.Context(), pod); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Error(err)
		}
	}
}

// A guest that dies while it boots is started again, which the start-up time has.
func TestASandboxThatFailedOnceIsNotedAndTwiceEndsTheStart(t *testing.T) {
	const said = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create containerd task: failed to create shim task: ttrpc: closed`
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
	for times := range int32(3) {
		c, _ := simulated(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "tare"}, InvolvedObject: corev1.ObjectReference{Name: "p"},
			Reason: []string{"Scheduled", "FailedCreatePodSandBox", "FailedCreatePodSandBox"}[times], Message: said, Count: times})
		once, err := c.sandboxFailure(t.Context(), pod)
		if noted := strings.HasSuffix(once, "FailedCreatePodSandBox: "+said); noted != (times == 1) || (err != nil) != (times == 2) {
			t.Errorf("after %d times: %q, %v", times, once, err)
		}
	}
}

func TestARefusalForAQuotaSaysWhatToDo(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("exceeded quota: few, requested: cpu=2"))
	if err := refused(forbidden); !strings.Contains(err.Error(), "ResourceQuota does not suffice") {
		t.Error(err)
	}
}

func TestAStreamThatBrokeIsExplained(t *testing.T) {
	whyTime = 100 * time.Millisecond
	defer func() { whyTime = 10 * time.Second }()
	deleted := metav1.Now()
	evicted := condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "Eviction API: evicting")
	for _, c := range []struct {
		what    string
		status  corev1.PodStatus
		deleted *metav1.Time
		want    string
	}{
		{"its container ended with its stream", terminated(corev1.ContainerStateTerminated{}), nil, ""},
		{"its container ended, and why is not reported yet", terminated(corev1.ContainerStateTerminated{ExitCode: 137}), nil, "exit status 137"},
		{"evicted, which deletes it", evicted, &deleted, "the pod was disrupted: EvictionByEvictionAPI: Eviction API: evicting"},
		{"deleted", corev1.PodStatus{Phase: corev1.PodRunning}, &deleted, "deleted by somebody else"},
		{"silent", corev1.PodStatus{Phase: corev1.PodRunning}, nil, "node n does not say what became of the pod"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "tare", DeletionTimestamp: c.deleted}, Status: c.status, Spec: corev1.PodSpec{NodeName: "n"}}
		cluster, _ := simulated(pod)
		if err := cluster.why("p"); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "tare"}, Status: terminated(corev1.ContainerStateTerminated{}), Spec: corev1.PodSpec{NodeName: "n"}}
	cluster, _ := simulated(pod, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "tare"}, Reason: "Evicted", Message: "The node was low on resource: memory. "})
	if err := cluster.evicted(t.Context(), pod); err == nil || err.Error() != "the pod was evicted by its node n: The node was low on resource: memory." {
		t.Error(err)
	}
	cluster, set := simulated()
	set.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("starting")
	})
	if err := cluster.why("p"); !errors.Is(err, api.ErrUnavailable) {
		t.Error(err)
	}
}

func TestANodeThatIsNotReadyIsToldFromOneThatIs(t *testing.T) {
	node := func(name string, is corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: is, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status."}}}}
	}
	c, set := simulated(node("well", corev1.ConditionTrue), node("lost", corev1.ConditionUnknown))
	for name, want := range map[string]string{
		"": "", "well": "", "lost": "node lost is not ready: NodeStatusUnknown: Kubelet stopped posting node status.", "none": "node none does not exist any more",
	} {
		if err := c.notReady(t.Context(), name); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	set.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "lost", errors.New("no"))
	})
	if err := c.notReady(t.Context(), "lost"); err != nil {
		t.Errorf("without permission: %v", err)
	}
}

// silent is a watch without events.
type silent struct{}

func (silent) Stop()                          {}
func (silent) ResultChan() <-chan watch.Event { return nil }

func TestAnImageThatNoNodeHasIsRefusedBeforeARun(t *testing.T) {
	const reference = "localhost/tare:12ab"
	full := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "full"}}
	for n := range mostReported {
		full.Status.Images = append(full.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprint("other:", n)}})
	}
	has := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "has"}, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"other:1", reference}}}}}
	lacks := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lacks"}, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"localhost/tare:34cd"}}}}}
	for _, c := range []struct {
		node corev1.Node
		may  bool
	}{{full, true}, {has, true}, {lacks, false}, {corev1.Node{}, false}} {
		if got := mayHave(c.node, reference); got != c.may {
			t.Errorf("node %s may have the image: %v", c.node.Name, got)
		}
	}
	img := &image.Image{Digest: "sha256:" + strings.Repeat("12ab", 16)}
	check := func(options Options, nodes ...runtime.Object) error {
		c, _ := simulated(nodes...)
		p := &pods{options: options}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		return p.checkLoaded(ctx, c, img, func(string) { cancel(nil) }) // it would wait
	}
	held := has.DeepCopy()
	held.Status.Images[0].Names = []string{img.EngineName()}
	for _, c := range []struct {
		what  string
		err   error
		waits bool
	}{
		{"a node has it", check(*defaults(), &lacks, held), false},
		{"no node has it", check(*defaults(), &lacks), true},
		{"nodes pull it", check(Options{Image: reference, Pull: "missing"}, &lacks), false},
		{"no node is seen", check(*defaults()), false},
	} {
		if waits := errors.Is(c.err, context.Canceled); waits != c.waits || c.err != nil && !waits {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
}

func TestTheCgroupOfAPodIsSearchedByAWholeUIDAlone(t *testing.T) {
	for _, uid := range []string{"", "a", "..", "../../..", "0da4b3ae", "0da4b3ae-5cfa-4211-a1a4-7e12e3da6c15/..", "kubepods"} {
		if group, err := podGroup(uid); err == nil || !strings.Contains(err.Error(), "is not the UID of a pod") {
			t.Errorf("%q gives %v, %v", uid, group, err)
		}
	}
	for _, uid := range []string{"0da4b3ae-5cfa-4211-a1a4-7e12e3da6c15", "0da4b3ae5cfa4211a1a47e12e3da6c15"} {
		if _, err := podGroup(uid); err == nil || strings.Contains(err.Error(), "is not the UID") {
			t.Errorf("%q: %v", uid, err)
		}
	}
}
