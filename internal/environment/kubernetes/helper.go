package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/environment"
	"tare/internal/environment/kubernetes/api"
	remotely "tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/host/cleanup"
)

// helperHome is tare's home in a helper: a path that no host has, since the cgroups
// there are the node's.
const helperHome = "/run/tare-helper"

// helper is a privileged pod with tare in it, which reads the cgroups of a node. All
// instances of an owner on the node share it.
type helper struct {
	mu      sync.Mutex
	pod     environment.Instance
	session *remotely.Session
}

// throughHelper has the helper of the instance's node find it, to meter and freeze it
// there. It starts the helper if it is the first one on the node; it ends with the last.
func (p *pods) throughHelper(ctx context.Context, i *instance, r environment.Request) error {
	node := i.pod.Spec.NodeName
	h, release, err := cleanup.Share(r.Owner, i.cluster.key("helper")+" "+node, func() (*helper, func(context.Context) error, error) {
		h := &helper{}
		return h, h.end, nil
	})
	if err != nil {
		return err
	}
	there, err := h.find(ctx, p, r, node, string(i.pod.UID))
	if err != nil {
		err = fmt.Errorf("usage: node: the helper on node %s: %w", node, err)
		return errors.Join(err, release(context.WithoutCancel(ctx)))
	}
	i.learnFacts(ctx, knowledge{there.More.Facts, there.More.Unknown}, nil)
	i.footprint, i.More.Freezer, i.thaw = there.Footprint(), there, there.Stop
	claim := i.release
	i.release = func(ctx context.Context) error { return errors.Join(claim(ctx), release(ctx)) }
	return nil
}

func (h *helper) end(ctx context.Context) (err error) {
	if h.session != nil {
		h.session.Close() // returns an error where the stream has ended
	}
	if h.pod != nil {
		err = h.pod.Stop(ctx)
	}
	h.session, h.pod = nil, nil
	return err
}

func (h *helper) find(ctx context.Context, p *pods, r environment.Request, node, uid string) (*remotely.Instance, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.session == nil || h.session.Err() != nil {
		if err := h.end(ctx); err != nil {
			return nil, err
		}
		if err := h.start(ctx, p, r, node); err != nil {
			return nil, errors.Join(err, h.end(context.WithoutCancel(ctx)))
		}
	}
	options := defaults()
	options.Network = p.options.Network
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	return h.session.Find(ctx, kind, text, uid)
}

func (h *helper) start(ctx context.Context, p *pods, r environment.Request, node string) (err error) {
	o := p.besides()
	o.User, o.ReadOnlyRoot = nil, false
	if o.AgentImage != "" {
		o.Image, o.Images, o.Pull = o.AgentImage, nil, "missing"
	}
	there := &pods{options: o, connect: p.connect, helper: true}
	h.pod, err = there.Start(ctx, environment.Request{Name: "helper-" + api.Sum(node), Owner: r.Owner, Image: r.Image, Console: r.Console, Node: node})
	if err != nil {
		return err
	}
	h.session, err = remotely.Dial(ctx, host.Instance("node "+node, "", h.pod.Agent()), remotely.Options{Home: helperHome})
	return err
}

// privilege gives the pod of a helper what it needs of its node: the processes and the
// cgroups of all pods.
func privilege(spec *corev1.PodSpec) {
	const cgroups = "/sys/fs/cgroup"
	yes, root := true, int64(0)
	spec.HostPID = true
	spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "cgroups", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: cgroups}}})
	c := &spec.Containers[0]
	c.SecurityContext = &corev1.SecurityContext{Privileged: &yes, RunAsUser: &root}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "cgroups", MountPath: cgroups})
}
