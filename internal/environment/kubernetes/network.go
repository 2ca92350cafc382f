package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"tare/internal/environment"
	"tare/internal/environment/kubernetes/api"
	"tare/internal/host/cleanup"
)

// path is what a packet between two pods passes.
func (o *Options) path() string {
	path := "the cluster's network (CNI)"
	switch {
	case o.Network == "host":
		return "the node's network stack"
	case o.Service == "cluster_ip":
		path = "a service's cluster IP, " + path
	case o.Service == "node_port":
		path = "a port of the node (NodePort), " + path
	}
	if o.RuntimeClass != "" {
		path += ", runtime class " + o.RuntimeClass
	}
	return path
}

// NewNetwork makes nothing: the pods of a cluster reach each other.
func (p *pods) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	return &network{path: p.options.path(), server: c.Server}, nil
}

type network struct {
	path   string
	server string

	mu    sync.Mutex
	near  string // the node of an instance
	alone int    // instances that have the address of their node, or ports of all nodes
}

func (n *network) Path() string { return n.path }

// Host is the address of this machine on the way to the nodes.
func (n *network) Host() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	to := n.near
	if to == "" {
		if u, err := url.Parse(n.server); err == nil {
			to = u.Hostname()
		}
	}
	c, err := net.Dial("udp4", net.JoinHostPort(to, "9")) // finds a route, and sends nothing
	if err != nil {
		return ""
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String()
}

// Close does nothing.
func (n *network) Close(context.Context) error { return nil }

// join takes part in a network, which one instance alone can with the address of a node.
func (o *Options) join(any environment.Network) (*network, error) {
	n, ours := any.(*network)
	if !ours {
		return nil, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !o.alone() {
		return n, nil
	}
	if n.alone > 0 {
		return nil, fmt.Errorf("%w: pods with network: host, and ports with service: node_port, have that of their node; use network: cni, and service: pod or cluster_ip", environment.ErrOneAddress)
	}
	n.alone++
	return n, nil
}

// alone says that instances have an address that is not theirs alone.
func (o *Options) alone() bool { return o.Network == "host" || o.Service == "node_port" }

func (n *network) learn(i *instance) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.near = i.pod.Status.HostIP
}

func (n *network) leave(i *instance) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i.options.alone() {
		n.alone--
	}
	i.network = nil
}

// serve makes the service of an instance, if the options want one.
func (p *pods) serve(ctx context.Context, i *instance, o *cleanup.Owner) error {
	if p.options.Service == "pod" {
		return nil
	}
	service := &corev1.Service{ObjectMeta: i.cluster.meta(o, i.name), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{instanceLabel: api.Sum(i.name)},
		PublishNotReadyAddresses: true,
	}}
	if p.options.Service == "node_port" {
		service.Spec.Type = corev1.ServiceTypeNodePort
	}
	for _, port := range p.options.Ports {
		described := corev1.ServicePort{Name: "p" + strconv.Itoa(port), Port: int32(port), TargetPort: intstr.FromInt(port)}
		if p.options.Service == "node_port" {
			described.NodePort = int32(port)
		}
		service.Spec.Ports = append(service.Spec.Ports, described)
	}
	i.service = "unknown" // to be removed, whatever the request comes to
	made, err := retry(context.WithoutCancel(ctx), "creating the service in "+i.cluster.name(), func(ctx context.Context) (*corev1.Service, error) {
		made, err := i.cluster.services.create(ctx, service, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return i.cluster.services.get(ctx, service.Name)
		}
		return made, err
	})
	if err != nil {
		return refused(err)
	}
	if i.service = made.Spec.ClusterIP; i.service == "" {
		return errors.New("the service has no cluster IP")
	}
	return nil
}
