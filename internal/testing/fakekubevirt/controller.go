package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	v1 "kubevirt.io/api/core/v1"

	"tare/internal/base/quantity"
	"tare/internal/linux/cgroup"
	"tare/internal/testing/sshguest"
)

// node is the only one, with so much memory.
const node, nodeMemory = "node-1", 16 * quantity.GiB

// double does what KubeVirt's controllers do.
type double struct {
	client              dynamic.Interface
	machines, instances dynamic.ResourceInterface
	claims              dynamic.ResourceInterface
	guests              *sshguest.Bridged
	exited              map[string]<-chan struct{}
	ran                 map[string]bool // VirtualMachines by UID and generation that ran once
}

func newDouble(config *rest.Config, guests *sshguest.Bridged) (*double, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	of := func(group, resource string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}).Namespace(namespace)
	}
	return &double{client, of("kubevirt.io", "virtualmachines"), of("kubevirt.io", "virtualmachineinstances"), of("", "persistentvolumeclaims"),
		guests, map[string]<-chan struct{}{}, map[string]bool{}}, nil
}

func say(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakekubevirt:", err)
	}
}

// step brings every object one phase further.
func (d *double) step(ctx context.Context) {
	machines, err := d.machines.List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the next step tries again
	}
	instances, err := d.instances.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	there := map[string]bool{}
	for _, item := range instances.Items {
		there[item.GetName()] = true
		var was, vmi v1.VirtualMachineInstance
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &was); err != nil {
			say(err)
			continue
		}
		was.DeepCopyInto(&vmi)
		d.instance(ctx, &vmi)
		if !reflect.DeepEqual(was, vmi) {
			d.update(ctx, &vmi)
		}
	}
	for _, item := range machines.Items {
		var vm v1.VirtualMachine
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &vm); err == nil {
			say(d.machine(ctx, &vm, there[vm.Name]))
		}
	}
	for name := range d.exited {
		if !there[name] {
			d.end(name)
		}
	}
}

func (d *double) update(ctx context.Context, vmi *v1.VirtualMachineInstance) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(vmi)
	if err != nil {
		say(err)
		return
	}
	_, _ = d.instances.Update(ctx, &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{}) // after a conflict the next step does it
}

// machine starts or stops the instance of a VirtualMachine.
func (d *double) machine(ctx context.Context, vm *v1.VirtualMachine, runs bool) error {
	strategy, err := vm.RunStrategy()
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s %d", vm.UID, vm.Generation)
	switch {
	case strategy == v1.RunStrategyHalted && runs:
		if err := d.instances.Delete(ctx, vm.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	case runs || strategy == v1.RunStrategyOnce && d.ran[key] || strategy != v1.RunStrategyOnce && strategy != v1.RunStrategyAlways:
		return nil
	}
	d.ran[key] = true
	yes := true
	vmi := &v1.VirtualMachineInstance{ObjectMeta: *vm.Spec.Template.ObjectMeta.DeepCopy(), Spec: *vm.Spec.Template.Spec.DeepCopy()}
	vmi.APIVersion, vmi.Kind, vmi.Name, vmi.Namespace = "kubevirt.io/v1", "VirtualMachineInstance", vm.Name, vm.Namespace
	vmi.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachine", Name: vm.Name, UID: vm.UID, Controller: &yes}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(vmi)
	if err != nil {
		return err
	}
	_, err = d.instances.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	return err
}

// instance brings a VirtualMachineInstance into its next phase.
func (d *double) instance(ctx context.Context, vmi *v1.VirtualMachineInstance) {
	status := &vmi.Status
	switch {
	case vmi.DeletionTimestamp != nil:
		d.end(vmi.Name)
		vmi.Finalizers = nil
	case len(vmi.Finalizers) == 0:
		vmi.Finalizers = []string{v1.VirtualMachineInstanceFinalizer}
		status.Phase = v1.Pending
	case status.Phase == v1.Pending:
		if status.Conditions = d.missing(ctx, vmi); status.Conditions == nil {
			status.Phase = v1.Scheduling
		}
	case status.Phase == v1.Scheduling:
		if status.Conditions = unscheduled(vmi); status.Conditions == nil {
			status.Phase, status.NodeName = v1.Scheduled, node
		}
	case status.Phase == v1.Scheduled:
		d.boot(vmi)
	case status.Phase == v1.Running:
		select {
		case <-d.exited[vmi.Name]:
			d.end(vmi.Name)
			status.Phase = v1.Failed
			status.Conditions = []v1.VirtualMachineInstanceCondition{condition(v1.VirtualMachineInstanceReady, "GuestNotRunning", "Guest VM is not reported as running")}
		default:
		}
	}
}

func condition(kind v1.VirtualMachineInstanceConditionType, reason, message string) v1.VirtualMachineInstanceCondition {
	return v1.VirtualMachineInstanceCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message}
}

const podScheduled = v1.VirtualMachineInstanceConditionType(corev1.PodScheduled)

// missing are the conditions of an instance whose claims are not there.
func (d *double) missing(ctx context.Context, vmi *v1.VirtualMachineInstance) []v1.VirtualMachineInstanceCondition {
	for _, volume := range vmi.Spec.Volumes {
		claim := ""
		if volume.PersistentVolumeClaim != nil {
			claim = volume.PersistentVolumeClaim.ClaimName
		}
		if volume.Ephemeral != nil {
			claim = volume.Ephemeral.PersistentVolumeClaim.ClaimName
		}
		if claim == "" {
			continue
		}
		if _, err := d.claims.Get(ctx, claim, metav1.GetOptions{}); err != nil {
			message := fmt.Sprintf("PVC %s/%s does not exist, waiting for it to appear", vmi.Namespace, claim)
			return []v1.VirtualMachineInstanceCondition{
				condition(podScheduled, corev1.PodReasonUnschedulable, message),
				condition(v1.VirtualMachineInstanceSynchronized, "FailedPvcNotFound", message),
			}
		}
	}
	return nil
}

// unscheduled are the conditions of an instance that the node does not take, or whose
// container disk it cannot pull: the tag missing stands for one.
func unscheduled(vmi *v1.VirtualMachineInstance) []v1.VirtualMachineInstanceCondition {
	_, memory := size(vmi)
	reason := ""
	if memory > nodeMemory {
		reason = "Insufficient memory"
	}
	if a := vmi.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		admits := func(term corev1.NodeSelectorTerm) bool {
			return !slices.ContainsFunc(term.MatchFields, func(f corev1.NodeSelectorRequirement) bool { return !slices.Contains(f.Values, node) })
		}
		if !slices.ContainsFunc(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, admits) {
			reason = "node(s) didn't match Pod's node affinity/selector"
		}
	}
	if reason != "" {
		return []v1.VirtualMachineInstanceCondition{condition(podScheduled, corev1.PodReasonUnschedulable, "0/1 nodes are available: 1 "+reason+".")}
	}
	for _, volume := range vmi.Spec.Volumes {
		if disk := volume.ContainerDisk; disk != nil && strings.HasSuffix(disk.Image, ":missing") {
			return []v1.VirtualMachineInstanceCondition{condition(v1.VirtualMachineInstanceSynchronized, "ImagePullBackOff", "Back-off pulling image "+disk.Image)}
		}
	}
	return nil
}

// size of a VM, and the limits of its container.
func size(vmi *v1.VirtualMachineInstance) (cpus cgroup.Limits, memory quantity.Bytes) {
	domain := vmi.Spec.Domain
	amount := domain.Resources.Requests.Memory()
	if domain.Memory != nil && domain.Memory.Guest != nil {
		amount = domain.Memory.Guest
	}
	topology := topologyOf(vmi)
	cpus.CPUs = float64(topology.Cores * topology.Sockets * topology.Threads)
	if limit := domain.Resources.Limits.Cpu(); !limit.IsZero() {
		cpus.CPUs = min(cpus.CPUs, limit.AsApproximateFloat64())
	}
	cpus.Memory = quantity.Bytes(amount.Value())
	return cpus, cpus.Memory
}

func topologyOf(vmi *v1.VirtualMachineInstance) *v1.CPUTopology {
	t := &v1.CPUTopology{}
	if c := vmi.Spec.Domain.CPU; c != nil {
		t = &v1.CPUTopology{Cores: c.Cores, Sockets: c.Sockets, Threads: c.Threads}
	}
	for _, n := range []*uint32{&t.Cores, &t.Sockets, &t.Threads} {
		*n = max(*n, 1)
	}
	return t
}

// boot starts the guest. The disk of a VirtualMachine stays, an ephemeral one does not.
func (d *double) boot(vmi *v1.VirtualMachineInstance) {
	disk := string(vmi.UID)
	if len(vmi.OwnerReferences) > 0 {
		disk = "of-" + vmi.OwnerReferences[0].Name
	}
	limits, memory := size(vmi)
	address, exited, err := d.guests.Boot(vmi.Name, disk, limits)
	d.exited[vmi.Name] = exited
	status := &vmi.Status
	if err != nil {
		say(err)
		status.Phase, status.Reason = v1.Failed, err.Error()
		return
	}
	bytes := resource.NewQuantity(int64(memory), resource.BinarySI)
	status.Phase, status.CurrentCPUTopology = v1.Running, topologyOf(vmi)
	status.Memory = &v1.MemoryStatus{GuestAtBoot: bytes, GuestCurrent: bytes, GuestRequested: bytes}
	status.Interfaces = []v1.VirtualMachineInstanceNetworkInterface{{Name: vmi.Spec.Networks[0].Name, IP: address, IPs: []string{address}}}
	status.Conditions = []v1.VirtualMachineInstanceCondition{{Type: v1.VirtualMachineInstanceReady, Status: corev1.ConditionTrue}}
}

func (d *double) end(name string) {
	if d.guests.On(name) {
		say(d.guests.End(name))
	}
	delete(d.exited, name)
}
