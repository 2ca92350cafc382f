// Package kubernetes runs images in pods of a Kubernetes cluster, one pod an instance.
// Kubernetes schedules the pods and starts them with the RuntimeClass of the options.
// docs/reference/environments/kubernetes.md says what each option does and why.
//
// It must not know workloads, studies or statistics.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"tare/internal/environment"
	"tare/internal/image"
)

const kind = "kubernetes"

func init() {
	environment.Register(environment.Registration{
		Kind:     kind,
		About:    "a pod of a Kubernetes cluster, with a RuntimeClass, or a VM of KubeVirt there",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(*o.(*Options)) },
		New: func(o any) (environment.Environment, error) {
			options := *o.(*Options)
			p := &pods{options: options, connect: sync.OnceValues(options.connect)}
			if options.As == "vmi" {
				return p.machines(), nil
			}
			return p, nil
		},
		Capabilities: func(o any) environment.Capabilities { return o.(*Options).capabilities() },
		Parts:        ladderParts,
		Find:         findPod,
		Sweep: func(ctx context.Context, home string, dead func(string) bool) ([]string, error) {
			pods, err := sweep(ctx, home, dead)
			machines, also := sweepMachines(ctx, home, dead)
			return append(pods, machines...), errors.Join(err, also)
		},
	})
}

// ladderParts are the options in the order in which a ladder switches them. What is within
// a runtime has RuntimeClasses of its own, which are configured on the nodes.
var ladderParts = environment.Parts{
	Switches: environment.InOrder(runtimeClass, "network", "service", "seccomp", "capabilities", "data"),
	Regroup: func(_, _ any, each []environment.Change) ([]environment.Change, []string) {
		for n, c := range each {
			if name, _ := c.Set[runtimeClass].(string); name != "" {
				each[n].Name = "RuntimeClass " + name
			}
		}
		return each, nil
	},
}

const runtimeClass = "runtime_class" // the option

type pods struct {
	options Options
	connect func() (*cluster, error)
	helper  bool // its pods are helpers, see helper.go
}

// Label is empty: its results need no caution.
func (p *pods) Label() string { return "" }

// Versions returns the version of the cluster.
func (p *pods) Versions(ctx context.Context) map[string]string {
	c, err := p.connect()
	if err != nil {
		return nil
	}
	version, err := c.version(ctx)
	if err != nil {
		return nil
	}
	return map[string]string{"kubernetes": version}
}

// Prepare checks that the cluster answers, and removes what coordinators left there whose
// leases have expired. The nodes have the image already, or pull it.
func (p *pods) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	if _, err := c.version(ctx); err != nil {
		return err
	}
	if err := c.clear(ctx, progress); err != nil {
		return err
	}
	return p.checkLoaded(ctx, c, img, progress)
}

// Nodes lists the nodes that are ready and that the options let the scheduler choose.
func (p *pods) Nodes(ctx context.Context) ([]string, error) {
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	list, err := retry(ctx, "listing the nodes of the cluster at "+c.Server, func(ctx context.Context) ([]corev1.Node, error) {
		return c.nodes.list(ctx, metav1.ListOptions{LabelSelector: k8slabels.SelectorFromSet(p.options.NodeSelector).String()})
	})
	if err != nil {
		return nil, fmt.Errorf("%w; the ClusterRole in deploy/kubernetes/nodes.yaml permits it", err)
	}
	names := []string{}
	for _, node := range list {
		if takes(&node, p.options.tolerations()) {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// takes says whether a node takes pods with these tolerations now.
func takes(node *corev1.Node, tolerations []corev1.Toleration) bool {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	if !ready || node.Spec.Unschedulable {
		return false
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(&taint) }) {
			return false
		}
	}
	return true
}

// Beside returns the environment of roles that are not measured: pods with the default
// runtime on the cluster's network, in the same namespace.
func (p *pods) Beside() environment.Environment {
	return &pods{options: p.besides(), connect: p.connect}
}

func (p *pods) besides() Options {
	o := p.options
	o.RuntimeClass, o.Network, o.Service, o.Ports = "", "cni", "pod", nil
	o.Data, o.StorageClass, o.StorageSize = "emptydir", "", 0
	o.Usage = ""
	return o
}
