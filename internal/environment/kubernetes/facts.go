package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// knowledge are facts, and the reasons why others are not known.
type knowledge struct{ facts, unknown map[string]string }

func newKnowledge() knowledge {
	return knowledge{facts: map[string]string{}, unknown: map[string]string{}}
}

func (k knowledge) know(key, value string) {
	k.facts[key] = value
	delete(k.unknown, key)
}

func (k knowledge) miss(reason string, keys ...string) {
	for _, key := range keys {
		if _, known := k.facts[key]; !known {
			k.unknown[key] = reason
		}
	}
}

// learn takes over what another source knows.
func (k knowledge) learn(other knowledge) {
	for key, value := range other.facts {
		k.know(key, value)
	}
	for key, reason := range other.unknown {
		k.miss(reason, key)
	}
}

// Keys of the facts.
const (
	factKernel   = "node[kernel]"
	factSystem   = "node[system]"
	factRuntime  = "node[container runtime]"
	factKubelet  = "node[kubelet]"
	factType     = "node[instance type]"
	factCPUs     = "node[cpu manager policy]"
	factTopology = "node[topology manager policy]"
	factMemory   = "node[memory manager policy]"
	factDriver   = "node[cgroup driver]"
	factCgroups  = "node[cgroup version]"
	factCNI      = "node[cni]"
	factCores    = "node[exclusive cores]"
	factHandler  = "provider[handler]"
)

// described are facts that a cluster gave once: those of its nodes, by name, and the
// handlers of its RuntimeClasses.
type described struct {
	sync.Mutex
	of map[string]knowledge
}

// once describes something with the first answer that is not a transient error.
func (d *described) once(key string, ask func() (knowledge, error)) knowledge {
	d.Lock()
	defer d.Unlock()
	if k, known := d.of[key]; known {
		return k
	}
	k, err := ask()
	if err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		if d.of == nil {
			d.of = map[string]knowledge{}
		}
		d.of[key] = k
	}
	return k
}

// describeClass are the facts of a RuntimeClass.
func (c *cluster) describeClass(ctx context.Context, name string) knowledge {
	return c.described.once("class "+name, func() (knowledge, error) {
		k := newKnowledge()
		class, err := c.classes.get(ctx, name)
		if err != nil {
			k.miss(permitted(err, "nodes.yaml"), factHandler)
		} else {
			k.know(factHandler, class.Handler)
		}
		return k, err
	})
}

// describeNode are the facts of a node that its object has, and those of its kubelet's
// configuration if that may be read.
func (c *cluster) describeNode(ctx context.Context, name string) knowledge {
	k := newKnowledge()
	k.learn(c.described.once("node "+name, func() (knowledge, error) {
		node, err := c.nodes.get(ctx, name)
		return ofNode(node, err), err
	}))
	k.learn(c.described.once("kubelet "+name, func() (knowledge, error) {
		text, err := c.wire.Get().AbsPath(corePath).Resource("nodes").Name(name).SubResource("proxy").Suffix("configz").Do(ctx).Raw()
		return ofKubelet(text, err), err
	}))
	return k
}

func ofNode(node *corev1.Node, err error) knowledge {
	k := newKnowledge()
	if err != nil {
		k.miss(permitted(err, "nodes.yaml"), factKernel, factSystem, factRuntime, factKubelet, factType)
		return k
	}
	info := node.Status.NodeInfo
	for key, value := range map[string]string{
		factKernel: info.KernelVersion, factSystem: info.OSImage, factRuntime: info.ContainerRuntimeVersion,
		factKubelet: info.KubeletVersion, factType: node.Labels[corev1.LabelInstanceTypeStable],
	} {
		if value == "" {
			k.miss("the node's object does not have it", key)
		} else {
			k.know(key, value)
		}
	}
	return k
}

// ofKubelet reads the answer of a kubelet's configz.
func ofKubelet(text []byte, err error) knowledge {
	k := newKnowledge()
	var answer struct {
		Config struct {
			CPUs     string `json:"cpuManagerPolicy"`
			Topology string `json:"topologyManagerPolicy"`
			Scope    string `json:"topologyManagerScope"`
			Memory   string `json:"memoryManagerPolicy"`
			Driver   string `json:"cgroupDriver"`
		} `json:"kubeletconfig"`
	}
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		k.miss("the kubelet's configuration: "+permitted(err, "kubelet.yaml"), factCPUs, factTopology, factMemory, factDriver)
		return k
	}
	c := answer.Config
	topology := c.Topology
	if topology != "" && topology != "none" && c.Scope != "" {
		topology += ", scope " + c.Scope
	}
	for key, value := range map[string]string{factCPUs: c.CPUs, factTopology: topology, factMemory: c.Memory, factDriver: c.Driver} {
		if value == "" {
			k.miss("the kubelet's configuration does not have it", key)
		} else {
			k.know(key, value)
		}
	}
	return k
}

// permitted is the reason of a request that failed.
func permitted(err error, manifest string) string {
	if apierrors.IsForbidden(err) {
		return "the user may not read it; deploy/kubernetes/" + manifest + " permits it"
	}
	return err.Error()
}

// learnFacts collects what the API server knows about the pod and its node, and the
// node's files where they are seen: seen is what they told, or err why they were not.
func (i *instance) learnFacts(ctx context.Context, seen knowledge, err error) {
	k := newKnowledge()
	k.know("log.channel", "the kubelet's attach")
	k.know("log.driver", "the log file of the container runtime")
	k.know("provider[quality of service]", string(i.pod.Status.QOSClass))
	if i.options.RuntimeClass == "" {
		k.know("provider[runtime class]", "none: the node's default runtime")
		k.miss("the node's default runtime is in its own configuration", factHandler)
	} else {
		k.know("provider[runtime class]", i.options.RuntimeClass)
		k.learn(i.cluster.describeClass(ctx, i.options.RuntimeClass))
	}
	k.learn(i.cluster.describeNode(ctx, i.pod.Spec.NodeName))
	if err != nil {
		k.miss("it is in files of the node: "+err.Error(), factCgroups, factCNI, factCores)
	}
	k.learn(seen)
	if i.options.Network == "host" {
		k.know(factCNI, "none: the pod has the node's network")
	}
	if _, known := k.facts[factCores]; !known && k.facts[factCPUs] == "none" {
		k.know(factCores, "no")
	}
	i.known = k
}

// errNodeFiles is why files of a node are not read.
var errNodeFiles = errors.New("the node is another machine than tare's, and only usage: node reads them there")

func elsewhere(node string, err error) string {
	return fmt.Sprintf("of a pod on node %s: %v", node, err)
}
