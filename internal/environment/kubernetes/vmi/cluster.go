package vmi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"tare/internal/environment/kubernetes/api"
	"tare/internal/environment/support/hypervisor"
	"tare/internal/host/cleanup"
)

// Access is a namespace of a cluster.
type Access struct {
	Config    *rest.Config
	Namespace string
	// Owners of the objects that are made: the coordinator's pod, if it runs in one.
	Owners []metav1.OwnerReference
	// At is how to reach it again, without secrets, for clean-up after a kill.
	At any
}

// cluster implements hypervisor.Hypervisor for KubeVirt, for one VM.
type cluster struct {
	access              Access
	wire                *http.Client
	machines, instances dynamic.ResourceInterface
	node                string                     // that an own VM has to run on; "" for any
	made                *unstructured.Unstructured // of an own VM, until it is created
}

func open(a Access) (*cluster, error) {
	wire, err := rest.HTTPClientFor(a.Config)
	if err != nil {
		return nil, fmt.Errorf("reading the connection to Kubernetes: %w", err)
	}
	client, err := dynamic.NewForConfigAndClient(a.Config, wire)
	if err != nil {
		return nil, fmt.Errorf("reading the connection to Kubernetes: %w", err)
	}
	return &cluster{
		access: a, wire: wire,
		machines: client.Resource(machines).Namespace(a.Namespace), instances: client.Resource(instances).Namespace(a.Namespace),
	}, nil
}

// close ends the connections that are idle; others share them.
func (c *cluster) close() { utilnet.CloseIdleConnectionsFor(c.wire.Transport) }

// read gets an object; ErrNone is in the error where there is none.
func (c *cluster) read(ctx context.Context, from dynamic.ResourceInterface, what, name string) (*unstructured.Unstructured, error) {
	found, err := api.Retry(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return from.Get(ctx, name, metav1.GetOptions{})
	})
	tried := fmt.Sprintf("reading %s %s of namespace %s at %s", what, name, c.access.Namespace, c.access.Config.Host)
	switch {
	case meansNoKubeVirt(err):
		return nil, fmt.Errorf("%s: %w; is KubeVirt installed there?", tried, err)
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s: %w: %w", tried, hypervisor.ErrNone, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", tried, err)
	}
	return found, nil
}

// objectOf is the name of a VM's VirtualMachineInstance.
func objectOf(v hypervisor.VM) string {
	if v.Own() {
		return nameOf(v.Name)
	}
	return v.Name
}

// meansNoKubeVirt tells a cluster without the resource from one without the object.
func meansNoKubeVirt(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && (status.Status().Details == nil || status.Status().Details.Name == "")
}

// State of a VM: of an own one that of its VirtualMachineInstance, else that of the
// VirtualMachine.
func (c *cluster) State(ctx context.Context, name string) (hypervisor.State, error) {
	if hypervisor.OwnerOf(name) != "" {
		vmi, err := c.read(ctx, c.instances, "VirtualMachineInstance", nameOf(name))
		if err != nil {
			return hypervisor.State{}, err
		}
		return stateOf(vmi, vmi, "spec"), nil
	}
	vm, err := c.read(ctx, c.machines, "VirtualMachine", name)
	if err != nil {
		return hypervisor.State{}, err
	}
	vmi, err := c.read(ctx, c.instances, "VirtualMachineInstance", name)
	if err != nil && !errors.Is(err, hypervisor.ErrNone) {
		return hypervisor.State{}, err
	}
	s := stateOf(vm, vmi, "spec", "template", "spec")
	running, given, _ := unstructured.NestedBool(vm.Object, "spec", "running")
	if strategy, _, _ := unstructured.NestedString(vm.Object, "spec", "runStrategy"); !s.On && strategy != "Halted" && (running || !given) {
		s.On, s.Word = true, "to run by runStrategy "+strategy
	}
	return s, nil
}

// stateOf reads the state of an object with labels and a domain; vmi is nil if it does
// not run.
func stateOf(labelled, vmi *unstructured.Unstructured, domain ...string) hypervisor.State {
	s := hypervisor.State{Word: "Halted", Labels: map[string]string{}}
	spec, _, _ := unstructured.NestedMap(labelled.Object, domain...)
	var status object
	if vmi != nil {
		s.On = true
		if s.Word, _, _ = unstructured.NestedString(vmi.Object, "status", "phase"); s.Word == "" {
			s.Word = "Pending"
		}
		status, _, _ = unstructured.NestedMap(vmi.Object, "status")
	}
	s.Bound = &hypervisor.Bound{}
	s.CPUs, s.Memory, s.Bound.CPUs = sizeOf(spec, status)
	for _, key := range []string{hypervisor.OwnerLabel, hypervisor.HomeLabel, hypervisor.MachineLabel} {
		if value, has := labelled.GetAnnotations()[key]; has {
			s.Labels[key] = value
		}
	}
	return s
}

// Clone describes a VirtualMachineInstance, which PowerOn creates: one that exists is
// starting, and its size cannot change.
func (c *cluster) Clone(ctx context.Context, v hypervisor.VM) error {
	template, err := c.read(ctx, c.machines, "VirtualMachine", v.Template)
	if err != nil {
		return err
	}
	if c.made, err = instanceOf(template, nameOf(v.Name)); err != nil {
		return err
	}
	c.made.SetOwnerReferences(c.access.Owners)
	if c.node != "" {
		return place(c.made, c.node)
	}
	return nil
}

// Restore is not reached: Validate refuses the mode.
func (c *cluster) Restore(context.Context, hypervisor.VM) error { return errRestore }

// Label sets annotations, since the path of a home is not a valid label value, and of the
// owner also a label, by which kubectl selects.
func (c *cluster) Label(ctx context.Context, v hypervisor.VM, labels map[string]string) error {
	if c.made != nil {
		annotations, selectable := c.made.GetAnnotations(), c.made.GetLabels()
		for key, value := range labels {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
		}
		if selectable == nil {
			selectable = map[string]string{}
		}
		selectable[cleanup.Label] = labels[hypervisor.OwnerLabel]
		c.made.SetAnnotations(annotations)
		c.made.SetLabels(selectable)
		return nil
	}
	annotations := object{}
	for key, value := range labels {
		annotations[key] = nil
		if value != "" {
			annotations[key] = value
		}
	}
	return c.patch(ctx, "labelling", v.Name, object{"metadata": object{"annotations": annotations}})
}

// patch changes a VirtualMachine.
func (c *cluster) patch(ctx context.Context, doing, name string, change object) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = api.Retry(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.machines.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	})
	if err != nil {
		return fmt.Errorf("%s virtual machine %s: %w", doing, name, err)
	}
	return nil
}

// Resize sets the size of a VirtualMachineInstance that is not created yet.
func (c *cluster) Resize(_ context.Context, _ hypervisor.VM, s hypervisor.Size) (notes []string, err error) {
	return nil, resize(c.made, s)
}

// PowerOn creates the VirtualMachineInstance, or starts the VirtualMachine once, and
// returns when KubeVirt says that it runs. The address is what KubeVirt reports of the guest.
func (c *cluster) PowerOn(ctx context.Context, v hypervisor.VM, port int) (func(context.Context) (string, error), error) {
	var err error
	if v.Own() {
		_, err = api.Retry(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
			return c.instances.Create(ctx, c.made, metav1.CreateOptions{})
		})
		if apierrors.IsAlreadyExists(err) { // by a request whose answer was lost
			err = nil
		}
		if err != nil {
			err = fmt.Errorf("creating VirtualMachineInstance %s: %w", c.made.GetName(), err)
		}
	} else {
		err = c.run(ctx, v, "Once", true)
	}
	if err == nil {
		err = c.running(ctx, objectOf(v), func(*unstructured.Unstructured) bool { return true })
	}
	return func(ctx context.Context) (string, error) { return c.reach(ctx, v, port) }, err
}

// run changes whether the VirtualMachine runs, in the field that it has.
func (c *cluster) run(ctx context.Context, v hypervisor.VM, strategy string, on bool) error {
	vm, err := c.read(ctx, c.machines, "VirtualMachine", v.Name)
	if err != nil {
		return err
	}
	change := object{"runStrategy": strategy}
	if _, has, _ := unstructured.NestedBool(vm.Object, "spec", "running"); has {
		change = object{"running": on}
	}
	doing := "stopping"
	if on {
		doing = "starting"
	}
	return c.patch(ctx, doing, v.Name, object{"spec": change})
}

func (c *cluster) reach(ctx context.Context, v hypervisor.VM, port int) (string, error) {
	address := ""
	err := c.running(ctx, objectOf(v), func(vmi *unstructured.Unstructured) bool {
		address = addressOf(vmi)
		return address != ""
	})
	if err != nil {
		return "", fmt.Errorf("waiting for the IPv4 address of a guest: %w", err)
	}
	return net.JoinHostPort(address, strconv.Itoa(port)), nil
}

// PowerOff deletes the VirtualMachineInstance of an own VM, or has the VirtualMachine
// stopped, and returns when there is no instance any more.
func (c *cluster) PowerOff(ctx context.Context, v hypervisor.VM) error {
	var err error
	if v.Own() {
		at := int64(0)
		_, err = api.Retry(ctx, func(ctx context.Context) (any, error) {
			return nil, c.instances.Delete(ctx, objectOf(v), metav1.DeleteOptions{GracePeriodSeconds: &at})
		})
		if apierrors.IsNotFound(err) {
			return nil
		}
	} else {
		err = c.run(ctx, v, "Halted", false)
	}
	var last *unstructured.Unstructured
	if err == nil {
		err = c.until(ctx, objectOf(v), func(vmi *unstructured.Unstructured) (bool, error) {
			if vmi != nil {
				last = vmi
			}
			return vmi == nil, nil
		})
	}
	if err != nil && last != nil {
		err = fmt.Errorf("it still has the finalizers %q, which KubeVirt removes: %w", last.GetFinalizers(), err)
	}
	if err != nil {
		return fmt.Errorf("stopping virtual machine %s: %w", v.Name, err)
	}
	return nil
}

// Delete does nothing: an own VM that is off does not exist any more.
func (c *cluster) Delete(context.Context, hypervisor.VM) error { return nil }
