package kubernetes

import (
	"context"
	"errors"
	"maps"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/environment"
	"tare/internal/environment/kubernetes/api"
	"tare/internal/linux/cgroup"
	"tare/internal/usage"
)

// instance is one pod.
type instance struct {
	environment.Started
	options   Options
	cluster   *cluster
	name      string // of the pod
	wanted    string // the node; "" for any
	directory string
	limits    environment.Limits
	release   func(context.Context) error // of the claim
	network   *network
	created   bool
	service   string // its cluster IP; "" without a service
	pod       *corev1.Pod
	channel   *channel
	footprint usage.Footprint
	freezer   *cgroup.Freezer // of the pod's cgroup; nil on a node that is another machine
	sandboxed bool            // its processes are gVisor's
	elsewhere string          // why the footprint is empty; "" on a node that is this machine
	seen      knowledge       // what files of the node tell; empty where they are not here
	known     knowledge
	ran       [2]time.Time // between which the container began, by this machine's clock

	stop    sync.Mutex
	stopped bool
}

func (i *instance) Footprint() usage.Footprint { return i.footprint }

// Address is the pod's, the service's or the node's, by the option service.
func (i *instance) Address() string {
	switch i.options.Service {
	case "cluster_ip":
		return i.service
	case "node_port":
		return i.pod.Status.HostIP
	}
	return i.pod.Status.PodIP
}

// Details of the pod and its node.
func (i *instance) Details() environment.Details {
	d := i.Started.Details()
	d.Listen, d.Facts, d.Unknown = i.pod.Status.PodIP, maps.Clone(i.known.facts), maps.Clone(i.known.unknown)
	if i.options.Network == "host" {
		d.Loopback = i.pod.Spec.NodeName
	}
	return d
}

// Paths of packets and blocks. They name no node, as those of different nodes are compared.
func (i *instance) Paths() environment.Paths {
	paths := environment.Paths{Network: i.options.path(), Root: "the container runtime's snapshot on the node's disk"}
	switch i.options.Data {
	case "memory":
		paths.Data, paths.DataOn = "tmpfs", environment.Memory
	case "pvc":
		paths.Data = "persistent volume of the storage class " + i.options.StorageClass
		if i.options.StorageClass == "" {
			paths.Data = "persistent volume of the default storage class"
		}
	default:
		paths.Data = "emptyDir on the node's disk"
	}
	return paths
}

// Stop shuts the agent down, and removes the pod.
func (i *instance) Stop(ctx context.Context) error {
	i.stop.Lock()
	defer i.stop.Unlock()
	if i.stopped {
		return nil
	}
	bound, cancel := context.WithTimeout(ctx, environment.ContainerStop.Terminate)
	defer cancel()
	i.channel.expected.Store(true)
	if err := i.Thaw(context.WithoutCancel(ctx)); err != nil {
		i.Findings = append(i.Findings, err.Error())
	}
	if i.Client.Err() == nil {
		_ = i.Client.Shutdown(bound) // what is left ends with the pod
	}
	select {
	case <-i.channel.ended:
		i.NoteExit(time.Now())
	case <-bound.Done():
	}
	i.Client.Close()
	if err := i.remove(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	i.NoteExit(time.Now())
	i.stopped = true
	return nil
}

// remove removes all that Start made.
func (i *instance) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, api.RetryTimeout+environment.ContainerStop.Kill)
	defer cancel()
	var problems []error
	if i.created {
		problems = append(problems, i.cluster.removePod(ctx, i.name))
	}
	if i.channel != nil {
		i.channel.Close()
		<-i.channel.ended
	}
	if i.service != "" {
		problems = append(problems, i.cluster.removeService(ctx, i.name))
	}
	if i.network != nil {
		i.network.leave(i)
	}
	if err := errors.Join(problems...); err != nil {
		return err // the claim stays, so that a sweep finds what is left
	}
	if i.release != nil {
		if err := i.release(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(i.directory)
}
