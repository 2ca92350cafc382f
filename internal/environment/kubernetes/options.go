package kubernetes

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/kubernetes/vmi"
	"tare/internal/environment/support/hypervisor"
)

// Options of the kind kubernetes.
type Options struct {
	// As is what an instance is: pod, or vmi, a VM of KubeVirt.
	As string `yaml:"as" json:"as"`
	// Kubeconfig is the file of the connection; "" is kubectl's ($KUBECONFIG, then
	// ~/.kube/config), and in a pod its service account.
	Kubeconfig string `yaml:"kubeconfig" json:"kubeconfig,omitempty"`
	// Context of the file; "" is the current one.
	Context string `yaml:"context" json:"context,omitempty"`
	// Namespace of the pods; "" is the context's.
	Namespace string `yaml:"namespace" json:"namespace,omitempty"`
	// RuntimeClass of the pods; "" is the runtime that the nodes use by default.
	RuntimeClass string `yaml:"runtime_class" json:"runtime_class,omitempty"`
	// NodeSelector are labels of the nodes that the pods run on.
	NodeSelector map[string]string `yaml:"node_selector" json:"node_selector,omitempty"`
	// Tolerations of the nodes' taints.
	Tolerations []Toleration `yaml:"tolerations" json:"tolerations,omitempty"`
	// Network is cni (the cluster's network) or host (the node's).
	Network string `yaml:"network" json:"network"`
	// Service is how others reach a pod: pod (its IP), cluster_ip or node_port.
	Service string `yaml:"service" json:"service"`
	// Ports are the TCP ports of the service.
	Ports []int `yaml:"ports" json:"ports,omitempty"`
	// Data is what /data is: emptydir, memory or pvc.
	Data string `yaml:"data" json:"data"`
	// StorageClass and StorageSize of a pvc.
	StorageClass string         `yaml:"storage_class" json:"storage_class,omitempty"`
	StorageSize  quantity.Bytes `yaml:"storage_size" json:"storage_size,omitempty"`
	// PriorityClass of the pods.
	PriorityClass string `yaml:"priority_class" json:"priority_class,omitempty"`
	// Seccomp is default (the runtime's profile) or unconfined.
	Seccomp string `yaml:"seccomp" json:"seccomp"`
	// Capabilities is default (the runtime's), none or all.
	Capabilities string `yaml:"capabilities" json:"capabilities"`
	// User is the UID that the agent runs as; nil is the image's user.
	User *int64 `yaml:"run_as_user" json:"run_as_user,omitempty"`
	// ReadOnlyRoot mounts the root file system read-only; /tmp and /run are writable.
	ReadOnlyRoot bool `yaml:"read_only_root" json:"read_only_root,omitempty"`
	// Image is the name under which the nodes have or pull the one image of all roles; ""
	// is localhost/tare:DIGEST, as `tare save` names it.
	Image string `yaml:"image" json:"image,omitempty"`
	// Images are the names under which the nodes have or pull several images, by the
	// references in the study or in the files of an application; "recipe" is one that tare
	// makes for roles on the host.
	Images map[string]string `yaml:"images" json:"images,omitempty"`
	// Pull is the policy of images with a name in Image or Images: never, missing or always;
	// "" is missing. Others are never pulled.
	Pull string `yaml:"pull" json:"pull,omitempty"`
	// PullSecrets are the names of secrets with credentials of registries.
	PullSecrets []string `yaml:"pull_secrets" json:"pull_secrets,omitempty"`
	// Usage is local (the cgroups are read where the node is this machine), node (a
	// privileged pod on the node reads them) or metrics (the metrics API); "" is local.
	Usage string `yaml:"usage" json:"usage,omitempty"`
	// AgentImage is an image with /bin/sh, cat and chmod, whose container receives the
	// agent; "" is the image itself.
	AgentImage string `yaml:"agent_image" json:"agent_image,omitempty"`
	// Options of a VM; zero values stand for the defaults, which a pod does not have.
	hypervisor.Options `yaml:",inline"`
}

// Toleration is one of a pod, with the keys and meanings of Kubernetes.
type Toleration struct {
	Key      string `yaml:"key" json:"key,omitempty"`
	Operator string `yaml:"operator" json:"operator,omitempty"`
	Value    string `yaml:"value" json:"value,omitempty"`
	Effect   string `yaml:"effect" json:"effect,omitempty"`
}

func defaults() *Options {
	return &Options{As: "pod", Network: "cni", Service: "pod", Data: "emptydir", Seccomp: "default", Capabilities: "default"}
}

// Range of the ports that a NodePort can have, unless the cluster is configured otherwise.
const firstNodePort, lastNodePort = 30000, 32767

// Validate returns every error in the options, each with its key.
func (o *Options) Validate() error {
	var wrong []error
	no := func(key, format string, a ...any) { wrong = append(wrong, strictyaml.AtKey(key, format, a...)) }
	oneOf := func(key, value string, known ...string) {
		wrong = append(wrong, environment.OneOf(key, value, known...))
	}
	oneOf("as", o.As, "pod", "vmi")
	wrong = append(wrong, o.validateAs()...)
	if o.As == "vmi" {
		m := o.machine()
		wrong = append(wrong, vmi.Validate(&m))
	}
	oneOf("network", o.Network, "cni", "host")
	oneOf("service", o.Service, "pod", "cluster_ip", "node_port")
	oneOf("data", o.Data, "emptydir", "memory", "pvc")
	oneOf("seccomp", o.Seccomp, "default", "unconfined")
	oneOf("capabilities", o.Capabilities, "default", "none", "all")
	if o.Usage != "" {
		oneOf("usage", o.Usage, "local", "node", "metrics")
	}
	if o.Pull != "" {
		oneOf("pull", o.Pull, "never", "missing", "always")
	}
	for _, n := range []struct{ key, name string }{
		{"namespace", o.Namespace}, {"runtime_class", o.RuntimeClass}, {"priority_class", o.PriorityClass}, {"storage_class", o.StorageClass},
	} {
		if problems := validation.IsDNS1123Subdomain(n.name); n.name != "" && len(problems) > 0 {
			no(n.key, "%q is not a name of an object: %s", n.name, problems[0])
		}
	}
	for key, value := range o.NodeSelector {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
			no("node_selector", "%s: %s is not a label: %s", key, value, problems[0])
		}
	}
	for _, t := range o.Tolerations {
		if !slices.Contains([]string{"", "Equal", "Exists"}, t.Operator) {
			no("tolerations", "operator: %q is not known: choose Equal or Exists", t.Operator)
		}
		if !slices.Contains([]string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}, t.Effect) {
			no("tolerations", "effect: %q is not known: choose NoSchedule, PreferNoSchedule or NoExecute", t.Effect)
		}
		if t.Key == "" && t.Operator != "Exists" {
			no("tolerations", "one without a key tolerates all taints: it needs operator: Exists")
		}
	}
	wrong = append(wrong, o.validatePorts(), o.validateStorage())
	if o.Network == "host" && o.Service != "pod" {
		no("service", "a pod with network: host has the addresses of its node: use service: pod")
	}
	if o.User != nil && *o.User < 0 {
		no("run_as_user", "must not be negative")
	}
	if o.Image == "" && len(o.Images) == 0 && o.Pull != "" && o.Pull != "never" {
		no("pull", "%s needs image or images: the names by which the nodes pull them", o.Pull)
	}
	if o.Image != "" && len(o.Images) > 0 {
		no("image", "images names each image: remove image")
	}
	for reference, name := range o.Images {
		if name == "" {
			no("images", "%s has no name: write the one by which the nodes have or pull it", reference)
		}
	}
	return errors.Join(wrong...)
}

func (o *Options) validatePorts() error {
	var wrong []error
	seen := map[int]bool{}
	for _, port := range o.Ports {
		switch {
		case port < 1 || port > 65535:
			wrong = append(wrong, strictyaml.AtKey("ports", "%d is not a port: the range is 1 to 65535", port))
		case seen[port]:
			wrong = append(wrong, strictyaml.AtKey("ports", "%d is listed twice", port))
		case o.Service == "node_port" && (port < firstNodePort || port > lastNodePort):
			wrong = append(wrong, strictyaml.AtKey("ports", "%d cannot be a NodePort: the range is %d to %d; the workload's servers listen at the same port", port, firstNodePort, lastNodePort))
		}
		seen[port] = true
	}
	switch {
	case o.Service == "pod" && len(o.Ports) > 0:
		wrong = append(wrong, strictyaml.AtKey("ports", "all ports of a pod's IP are reached: only service: cluster_ip and node_port list them"))
	case (o.Service == "cluster_ip" || o.Service == "node_port") && len(o.Ports) == 0:
		wrong = append(wrong, strictyaml.AtKey("ports", "service: %s needs the ports that the workload's servers listen at, such as ports: [30379]", o.Service))
	}
	return errors.Join(wrong...)
}

func (o *Options) validateStorage() error {
	switch {
	case o.Data == "pvc" && o.StorageSize <= 0:
		return strictyaml.AtKey("storage_size", "data: pvc needs the size to claim, such as storage_size: 10GiB")
	case o.Data != "pvc" && (o.StorageClass != "" || o.StorageSize != 0):
		return fmt.Errorf("storage_class, storage_size: only data: pvc claims storage, and data is %s", o.Data)
	}
	return nil
}

func (o *Options) capabilities() environment.Capabilities {
	c := environment.Capabilities{
		Placed: true, NoCores: true, CannotLimit: o.cannotLimit,
		MemoryMounts: o.As == "pod", WhyNoMemoryMounts: "a VM has no directories in memory: leave out tmpfs and emptyDir with medium: Memory, or the environment",
		ImageName: o.Image, ImageNames: o.Images,
	}
	if o.As == "pod" && o.Network == "cni" {
		c.SharedNetwork = fmt.Sprintf("the cluster of %q %q", o.Kubeconfig, o.Context)
	}
	if o.Service != "pod" {
		c.PortsOption, c.Ports = "ports", o.Ports
	}
	return c
}

// pullPolicy is that of the pod, for an image with a name in the options, or for another.
func (o *Options) pullPolicy(named bool) corev1.PullPolicy {
	switch {
	case o.Pull == "never" || !named:
		return corev1.PullNever
	case o.Pull == "always":
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func (o *Options) tolerations() (list []corev1.Toleration) {
	for _, t := range o.Tolerations {
		list = append(list, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return list
}
