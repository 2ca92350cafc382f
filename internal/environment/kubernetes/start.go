package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/kubernetes/vmi"
	"tare/internal/environment/support/console"
	"tare/internal/host/cleanup"
	"tare/internal/usage"
)

var theAgent = cleanup.OncePerKey(func(home string) (string, error) {
	return agent.WriteBinary(filepath.Join(home, "agent"))
})

// Start creates a pod, sends it the agent and connects to it.
func (p *pods) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	began := time.Now()
	directory, err := r.Owner.Directory(r.Name)
	if err != nil {
		return nil, err
	}
	tail := console.New(r.Console)
	i := &instance{options: p.options, directory: directory, name: nameOf(r.Owner, r.Name), wanted: r.Node, limits: r.Limits}
	defer func() {
		if err != nil {
			if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
				err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
			}
			err = fmt.Errorf("starting %s: %w%s", r.Name, err, tail.LastLines())
			if left := i.remove(context.WithoutCancel(ctx)); left != nil {
				err = fmt.Errorf("%w\nand cleaning up after it: %w", err, left)
			}
		}
	}()
	if err := unsettable(r); err != nil {
		return nil, err
	}
	program, err := theAgent(r.Owner.Home())
	if err != nil {
		return nil, err
	}
	if i.cluster, err = p.connect(); err != nil {
		return nil, err
	}
	if i.network, err = p.options.join(r.Network); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if i.release, err = i.cluster.claim(ctx, r.Owner); err != nil {
		return nil, err
	}
	if err := p.serve(ctx, i, r.Owner); err != nil {
		return nil, err
	}
	times := &phases{last: began}
	times.end(environment.PreparePhase)
	if err := i.create(ctx, p.pod(i.cluster, r, i.name)); err != nil {
		return nil, err
	}
	if err := i.up(ctx, program, tail, times); err != nil {
		return nil, err
	}
	if p.helper {
		return i, nil
	}
	if err := p.checkImage(ctx, r.Image, i); err != nil {
		i.channel.expected.Store(true)
		i.Client.Close()
		return nil, err
	}
	// What is looked at, and the helper of the node, do not count as start-up time.
	defer func() { times.end(environment.PreparePhase); i.Timeline = times.list }()
	i.look(ctx)
	switch p.options.Usage {
	case "metrics":
		i.footprint = usage.Footprint{Elsewhere: averaged{i}}
	case "node":
		if err := p.throughHelper(ctx, i, r); err != nil {
			i.channel.expected.Store(true)
			i.Client.Close()
			return nil, err
		}
	}
	if i.footprint.Elsewhere != nil {
		i.More.EffectiveLimits = i.effectiveLimits
	}
	return i, nil
}

// unsettable refuses what a pod cannot have.
func unsettable(r environment.Request) error {
	if slices.ContainsFunc(r.Mounts, func(m environment.Mount) bool { return !m.Memory }) {
		return errors.New("mounts: a pod runs on a node, which does not have the directories of this machine")
	}
	return errors.Join(defaults().cannotLimit(r.Limits)...)
}

// cannotLimit says which limits an instance cannot have.
func (o *Options) cannotLimit(l environment.Limits) (wrong []error) {
	if o.As == "vmi" {
		if len(l.Cores) > 0 {
			wrong = append(wrong, vmi.ErrCores)
		}
		return wrong
	}
	if len(l.Cores) > 0 {
		wrong = append(wrong, errors.New("limits: pin: a pod cannot name its cores: remove the cores of roles; for cores of its own, limit whole CPUs and memory on nodes whose kubelet has the CPU manager policy static"))
	}
	if l.PIDs > 0 {
		wrong = append(wrong, errors.New("limits: pids: a pod cannot limit its processes: remove it; the kubelets limit those of every pod (podPidsLimit)"))
	}
	if !l.IO.None() {
		wrong = append(wrong, errors.New("limits: io: a pod cannot limit its I/O: remove it"))
	}
	return wrong
}

// phases are parts of a start, one after the other.
type phases struct {
	last time.Time
	list []environment.Phase
}

func (t *phases) end(name string) {
	now := time.Now()
	t.list = append(t.list, environment.Phase{Name: name, Duration: now.Sub(t.last)})
	t.last = now
}

// create creates the pod. It is not canceled with the context: whether there is a pod
// would be unknown.
func (i *instance) create(ctx context.Context, pod *corev1.Pod) error {
	i.created = true
	_, err := retry(context.WithoutCancel(ctx), "creating the pod in "+i.cluster.name(), func(ctx context.Context) (*corev1.Pod, error) {
		made, err := i.cluster.pods.create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // a request whose answer was lost
			err = nil
		}
		return made, err
	})
	return refused(err)
}

// up waits for the parts of the pod, one after the other, until its agent is ready.
func (i *instance) up(ctx context.Context, program string, tail *console.Console, times *phases) (err error) {
	c := i.cluster
	began := time.Now()
	until := func(reached func(*corev1.Pod) bool) error {
		pod, err := c.await(ctx, i.name, func(pod *corev1.Pod) (bool, error) {
			if reached(pod) {
				return true, nil
			}
			return false, failure(pod)
		}, func(pod *corev1.Pod) error {
			once, err := c.sandboxFailure(ctx, pod)
			if once != "" && !slices.Contains(i.Findings, once) {
				i.Findings = append(i.Findings, once)
			}
			return cmp.Or(c.lost(ctx, cmp.Or(pod.Spec.NodeName, i.wanted), began), err)
		})
		if pod != nil {
			i.pod = pod
		}
		return err
	}
	if err := until(func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }); err != nil {
		return err
	}
	times.end("schedule")
	if err := until(func(pod *corev1.Pod) bool { return running(pod.Status.InitContainerStatuses) }); err != nil {
		return err
	}
	times.end("sandbox")
	if err := c.push(ctx, i.name, program, tail); err != nil {
		return errors.Join(err, failure(i.pod))
	}
	times.end(environment.PreparePhase)
	i.ran[0] = times.last
	if err := until(func(pod *corev1.Pod) bool { return running(pod.Status.ContainerStatuses) }); err != nil {
		return err
	}
	times.end("container")
	i.ran[1] = times.last
	i.channel = c.newChannel(i.name, tail)
	if i.Client, err = agent.Connect(ctx, i.channel); err != nil {
		return err
	}
	times.end("agent")
	i.Timeline = times.list
	return nil
}

func running(list []corev1.ContainerStatus) bool {
	return len(list) > 0 && list[0].State.Running != nil
}
