package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"
)

// serveWebhooks starts the server that the API server asks before it takes an object, and
// returns the object by which it knows the server.
func serveWebhooks() (s *httptest.Server, configuration string) {
	s = httptest.NewTLSServer(http.HandlerFunc(admit))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s, fmt.Sprintf(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "virt-api-validator"},
		"webhooks": [{"name": "validator.kubevirt.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
			"clientConfig": {"url": %q, "caBundle": %q},
			"rules": [{"apiGroups": ["kubevirt.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["virtualmachines", "virtualmachineinstances"]}]}]}`,
		s.URL, base64.StdEncoding.EncodeToString(ca))
}

// admit answers one question of the API server.
func admit(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if wrong := refusals(review.Request); len(wrong) > 0 {
		answer.Allowed = false
		answer.Result = &metav1.Status{Message: strings.Join(wrong, ", "), Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity}
	}
	review.Response, review.Request = answer, nil
	json.NewEncoder(w).Encode(review)
}

// strictly decodes an object of KubeVirt's API and refuses fields that it does not have.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// refusals are why KubeVirt would not take an object.
func refusals(r *admissionv1.AdmissionRequest) []string {
	if r.Resource.Resource == "virtualmachines" {
		var vm v1.VirtualMachine
		if err := strictly(r.Object.Raw, &vm); err != nil {
			return []string{err.Error()}
		}
		return ofMachine(&vm)
	}
	var vmi v1.VirtualMachineInstance
	if err := strictly(r.Object.Raw, &vmi); err != nil {
		return []string{err.Error()}
	}
	if r.Operation == admissionv1.Create {
		return ofInstance(&vmi)
	}
	var old v1.VirtualMachineInstance
	if err := json.Unmarshal(r.OldObject.Raw, &old); err != nil {
		return []string{err.Error()}
	}
	if !reflect.DeepEqual(vmi.Spec, old.Spec) && r.UserInfo.Username != self {
		return []string{"the spec of a VirtualMachineInstance cannot be changed"}
	}
	return nil
}

func ofMachine(vm *v1.VirtualMachine) (wrong []string) {
	if vm.Spec.Template == nil {
		wrong = append(wrong, "spec.template is required")
	}
	if (vm.Spec.Running == nil) == (vm.Spec.RunStrategy == nil) {
		wrong = append(wrong, "one of spec.running and spec.runStrategy has to be set")
	}
	return wrong
}

// reserved are labels that only KubeVirt sets.
var reserved = []string{v1.CreatedByLabel, v1.MigrationJobLabel, v1.NodeNameLabel, v1.MigrationTargetNodeNameLabel, v1.NodeSchedulable, v1.InstallStrategyLabel}

func ofInstance(vmi *v1.VirtualMachineInstance) (wrong []string) {
	no := func(format string, a ...any) { wrong = append(wrong, fmt.Sprintf(format, a...)) }
	for _, label := range reserved {
		if _, has := vmi.Labels[label]; has {
			no("metadata.labels: %s is reserved", label)
		}
	}
	spec := &vmi.Spec
	domain := spec.Domain
	guest := domain.Memory
	request, limit := domain.Resources.Requests.Memory(), domain.Resources.Limits.Memory()
	if request.IsZero() && (guest == nil || guest.Guest == nil && guest.Hugepages == nil) {
		no("spec.domain: no memory is requested")
	}
	if guest != nil && guest.Guest != nil && !limit.IsZero() && guest.Guest.Cmp(*limit) > 0 {
		no("spec.domain.memory.guest %s is more than spec.domain.resources.limits.memory %s", guest.Guest, limit)
	}
	if !limit.IsZero() && request.Cmp(*limit) > 0 {
		no("spec.domain.resources.requests.memory %s is more than its limit %s", request, limit)
	}
	if cpu, bound := domain.Resources.Requests.Cpu(), domain.Resources.Limits.Cpu(); !bound.IsZero() && cpu.Cmp(*bound) > 0 {
		no("spec.domain.resources.requests.cpu %s is more than its limit %s", cpu, bound)
	}
	if c := domain.CPU; c != nil && c.MaxSockets != 0 && c.Sockets > c.MaxSockets {
		no("spec.domain.cpu.sockets %d is more than maxSockets %d", c.Sockets, c.MaxSockets)
	}
	return append(wrong, devices(spec)...)
}

// devices are the refusals of disks without volumes, volumes without disks, and cards
// without networks.
func devices(spec *v1.VirtualMachineInstanceSpec) (wrong []string) {
	no := func(format string, a ...any) { wrong = append(wrong, fmt.Sprintf(format, a...)) }
	disks, networks := map[string]bool{}, map[string]bool{}
	for _, disk := range spec.Domain.Devices.Disks {
		disks[disk.Name] = true
	}
	for _, system := range spec.Domain.Devices.Filesystems {
		disks[system.Name] = true
	}
	volumes := map[string]bool{}
	for _, volume := range spec.Volumes {
		sources := 0
		fields := reflect.ValueOf(volume.VolumeSource)
		for n := range fields.NumField() {
			if fields.Field(n).Kind() == reflect.Pointer && !fields.Field(n).IsNil() {
				sources++
			}
		}
		if sources != 1 {
			no("spec.volumes: %s has %d sources, and needs one", volume.Name, sources)
		}
		if e := volume.Ephemeral; e != nil && e.PersistentVolumeClaim == nil {
			no("spec.volumes: %s is ephemeral without a claim", volume.Name)
		}
		if volumes[volume.Name] {
			no("spec.volumes: %s is listed twice", volume.Name)
		}
		if volumes[volume.Name] = true; !disks[volume.Name] {
			no("spec.volumes: %s has no disk", volume.Name)
		}
	}
	for disk := range disks {
		if !volumes[disk] {
			no("spec.domain.devices.disks: %s has no volume", disk)
		}
	}
	for _, n := range spec.Networks {
		networks[n.Name] = true
	}
	for _, card := range spec.Domain.Devices.Interfaces {
		if !networks[card.Name] {
			no("spec.domain.devices.interfaces: %s has no network", card.Name)
		}
	}
	return wrong
}
