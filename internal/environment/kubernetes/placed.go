package kubernetes

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"tare/internal/environment"
)

// Nodes lists the nodes that are ready and that the options let the scheduler choose.
func (p *pods) Nodes(ctx context.Context) ([]string, error) {
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	list, err := retry(ctx, "listing the nodes of the cluster at "+c.Server, func(ctx context.Context) (*corev1.NodeList, error) {
		return c.core.Nodes().List(ctx, metav1.ListOptions{LabelSelector: k8slabels.SelectorFromSet(p.options.NodeSelector).String()})
	})
	if err != nil {
		return nil, fmt.Errorf("%w; the ClusterRole in deploy/kubernetes/nodes.yaml permits it", err)
	}
	names := []string{}
	for _, node := range list.Items {
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
