package vmi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/base/quantity"
	"tare/internal/environment/kubernetes/api"
	"tare/internal/environment/support/hypervisor"
)

// The resources of KubeVirt's API. Objects are maps, so that fields that a newer KubeVirt
// knows are kept in the copy of a template.
var (
	machines  = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}
	instances = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}
)

type object = map[string]any

// maxName is the longest name of an object that can also be the value of a label.
const maxName = 63

// nameOf is the name of the object of a VM.
func nameOf(vm string) string { return api.Name(vm, maxName) }

// instanceOf is the VirtualMachineInstance that a VirtualMachine describes, with disks
// whose writes are discarded.
func instanceOf(template *unstructured.Unstructured, name string) (*unstructured.Unstructured, error) {
	wrong := func(format string, a ...any) error {
		return fmt.Errorf("template %s: "+format, append([]any{template.GetName()}, a...)...)
	}
	for _, key := range []string{"instancetype", "preference"} {
		if _, has, _ := unstructured.NestedMap(template.Object, "spec", key); has {
			return nil, wrong("its %s describes a part of the VM, and only KubeVirt's controller adds it: use mode: start, or write it out with virtctl expand --vm %s", key, template.GetName())
		}
	}
	from, has, err := unstructured.NestedMap(template.Object, "spec", "template")
	if err != nil || !has {
		return nil, wrong("it has no spec.template")
	}
	made := &unstructured.Unstructured{Object: object{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance"}}
	for _, field := range []string{"labels", "annotations"} {
		if m, has, _ := unstructured.NestedMap(from, "metadata", field); has {
			_ = unstructured.SetNestedMap(made.Object, m, "metadata", field)
		}
	}
	made.SetName(name)
	spec, _ := from["spec"].(object)
	if spec == nil {
		return nil, wrong("it has no spec.template.spec")
	}
	made.Object["spec"] = spec
	if err := discardWrites(spec); err != nil {
		return nil, wrong("%w", err)
	}
	// What identifies one machine; KubeVirt chooses others.
	unstructured.RemoveNestedField(spec, "domain", "firmware", "uuid")
	unstructured.RemoveNestedField(spec, "domain", "firmware", "serial")
	each(spec, func(card object) { delete(card, "macAddress") }, "domain", "devices", "interfaces")
	spec["evictionStrategy"] = "None" // not moved to another node
	spec["terminationGracePeriodSeconds"] = int64(0)
	return made, nil
}

// each calls do for the maps of a list.
func each(in object, do func(object), path ...string) {
	list, _, _ := unstructured.NestedFieldNoCopy(in, path...)
	items, _ := list.([]any)
	for _, item := range items {
		if m, is := item.(object); is {
			do(m)
		}
	}
}

// discardWrites turns the volumes that last into ephemeral ones, which begin with the
// claim's content.
func discardWrites(spec object) error {
	var wrong []error
	each(spec, func(volume object) {
		claim, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName")
		if made, has, _ := unstructured.NestedString(volume, "dataVolume", "name"); has {
			claim = made // the claim has the name of the DataVolume
		}
		if claim != "" {
			delete(volume, "persistentVolumeClaim")
			delete(volume, "dataVolume")
			volume["ephemeral"] = object{"persistentVolumeClaim": object{"claimName": claim}}
		}
		for _, shared := range []string{"hostDisk", "memoryDump"} {
			if _, has := volume[shared]; has {
				wrong = append(wrong, fmt.Errorf("volume %v: instances of mode: linked would share its %s: use mode: start, or a persistentVolumeClaim", volume["name"], shared))
			}
		}
	}, "volumes")
	return errors.Join(wrong...)
}

// resize sets the virtual CPUs and the memory of a VirtualMachineInstance, and what its
// container may use of the CPUs.
func resize(vmi *unstructured.Unstructured, s hypervisor.Size) error {
	set := func(value any, path ...string) error {
		return unstructured.SetNestedField(vmi.Object, value, append([]string{"spec", "domain"}, path...)...)
	}
	remove := func(path ...string) {
		unstructured.RemoveNestedField(vmi.Object, append([]string{"spec", "domain"}, path...)...)
	}
	var wrong []error
	if s.CPUs > 0 {
		remove("cpu", "maxSockets")
		wrong = append(wrong, set(int64(s.CPUs), "cpu", "cores"), set(int64(1), "cpu", "sockets"), set(int64(1), "cpu", "threads"))
	}
	if s.Quota > 0 {
		cpus := resource.NewMilliQuantity(int64(math.Round(s.Quota*1000)), resource.DecimalSI).String()
		wrong = append(wrong, set(cpus, "resources", "requests", "cpu"), set(cpus, "resources", "limits", "cpu"))
	}
	if s.Memory > 0 {
		remove("memory", "maxGuest")
		for _, list := range []string{"requests", "limits"} { // KubeVirt adds what the VM itself takes to the guest's memory
			remove("resources", list, "memory")
		}
		wrong = append(wrong, set(resource.NewQuantity(int64(s.Memory), resource.BinarySI).String(), "memory", "guest"))
	}
	return errors.Join(wrong...)
}

// place restricts a VirtualMachineInstance to a node. The terms of a selector are
// alternatives, so each one gets the node.
func place(vmi *unstructured.Unstructured, node string) error {
	path := []string{"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}
	only := object{"key": "metadata.name", "operator": "In", "values": []any{node}}
	terms, _, err := unstructured.NestedSlice(vmi.Object, path...)
	if err != nil {
		return fmt.Errorf("the node affinity of the template: %w", err)
	}
	if len(terms) == 0 {
		terms = []any{object{}}
	}
	for _, term := range terms {
		if t, is := term.(object); is {
			fields, _ := t["matchFields"].([]any)
			t["matchFields"] = append(slices.Clone(fields), only)
		}
	}
	return unstructured.SetNestedSlice(vmi.Object, terms, path...)
}

// sizeOf reads the size of a domain: what KubeVirt reports of a running one, else what
// was asked for.
func sizeOf(spec, status object) (cpus int, memory quantity.Bytes, bound float64) {
	amount := func(path ...string) *resource.Quantity {
		text, _, _ := unstructured.NestedFieldNoCopy(spec, append([]string{"domain"}, path...)...)
		q, err := resource.ParseQuantity(fmt.Sprint(text))
		if err != nil {
			return nil
		}
		return &q
	}
	first := func(of ...*resource.Quantity) resource.Quantity {
		for _, q := range of {
			if q != nil {
				return *q
			}
		}
		return resource.Quantity{}
	}
	topology, has, _ := unstructured.NestedMap(status, "currentCPUTopology")
	if !has {
		topology, has, _ = unstructured.NestedMap(spec, "domain", "cpu")
	}
	limit, request := amount("resources", "limits", "cpu"), amount("resources", "requests", "cpu")
	cpus = 1
	for _, factor := range []string{"cores", "sockets", "threads"} {
		if n, is := topology[factor].(int64); is && n > 0 {
			cpus *= int(n)
		}
	}
	if asked := first(limit, request); !has && !asked.IsZero() {
		cpus = int(asked.Value()) // rounded up, as KubeVirt does
	}
	bound = float64(cpus)
	if limit != nil {
		bound = min(bound, limit.AsApproximateFloat64())
	}
	asked := first(amount("memory", "guest"), amount("resources", "requests", "memory"), amount("resources", "limits", "memory"))
	if text, has, _ := unstructured.NestedString(status, "memory", "guestCurrent"); has {
		if q, err := resource.ParseQuantity(text); err == nil {
			asked = q
		}
	}
	return cpus, quantity.Bytes(asked.Value()), bound
}
