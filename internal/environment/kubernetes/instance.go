package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/remotecommand"

	"tare/internal/agent/wire"
	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/environment/kubernetes/api"
	"tare/internal/linux/cgroup"
	"tare/internal/usage"
)

type instance struct {
	environment.Started
	options   Options
	cluster   *cluster
	name      string // of the pod
	wanted    string // the node; "" for any
	directory string
	limits    environment.Limits
	release   func(context.Context) error // of the claim, and of the node's helper
	network   *network
	created   bool
	service   string // its cluster IP; "" without a service
	pod       *corev1.Pod
	channel   *channel
	footprint usage.Footprint
	thaw      func(context.Context) error // before the stop; nil for a pod that is not frozen
	around    string                      // the cgroup of a Kata guest's shim, which Kata leaves; "" without one
	seen      knowledge                   // what files of the node tell; empty where they are not here
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
	if i.thaw != nil {
		if err := i.thaw(context.WithoutCancel(ctx)); err != nil {
			i.Findings = append(i.Findings, err.Error())
		}
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
	if around, err := cgroup.At(i.around); i.around != "" && err == nil {
		problems = append(problems, around.Remove())
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

// attach connects to a container of a pod until the streams end.
func (c *cluster) attach(ctx context.Context, pod, container string, streams remotecommand.StreamOptions) error {
	url := c.wire.Post().AbsPath(corePath).Namespace(c.Namespace).Resource("pods").Name(pod).SubResource("attach").
		Param("container", container).Param("stdin", "true").
		Param("stdout", strconv.FormatBool(streams.Stdout != nil)).Param("stderr", strconv.FormatBool(streams.Stderr != nil)).URL()
	// API servers before 1.30 and some proxies speak SPDY only.
	old, err := remotecommand.NewSPDYExecutor(c.config, "POST", url)
	if err != nil {
		return err
	}
	web, err := remotecommand.NewWebSocketExecutor(c.config, "GET", url.String())
	if err != nil {
		return err
	}
	e, err := remotecommand.NewFallbackExecutor(web, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return err
	}
	return e.StreamWithContext(ctx, streams)
}

// push writes the agent's program to the container that receives it.
func (c *cluster) push(ctx context.Context, pod, program string, console io.Writer) error {
	body, err := os.Open(program)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := c.attach(ctx, pod, receiver, remotecommand.StreamOptions{Stdin: body, Stderr: console}); err != nil {
		return fmt.Errorf("sending the agent to pod %s: %w", pod, err)
	}
	return nil
}

// channel is the agent's stream over an attached connection.
type channel struct {
	out    *io.PipeReader
	in     *io.PipeWriter
	agent  *wire.Greeter // reads out
	cancel context.CancelFunc
	// expected: the container ends because it is stopped.
	expected atomic.Bool
	ended    chan struct{}
}

// newChannel attaches to the agent and calls it; standard error of the
// container goes to the console. why explains a stream that broke.
func (c *cluster) newChannel(pod string, console io.Writer) *channel {
	ctx, cancel := context.WithCancel(context.Background())
	out, from := io.Pipe()
	to, in := io.Pipe()
	ch := &channel{out: out, in: in, cancel: cancel, ended: make(chan struct{})}
	crash.Go(func() {
		defer close(ch.ended)
		err := c.attach(ctx, pod, workload, remotecommand.StreamOptions{Stdin: to, Stdout: from, Stderr: console})
		in.Close() // the end of the input is no error to client-go, and a closed reader is
		if !ch.expected.Load() {
			if reason := c.why(pod); reason != nil {
				err = reason
			} else if err == nil {
				err = errors.New("the API server or the node closed the stream")
			}
			err = fmt.Errorf("pod %s: %w", pod, err)
		}
		from.CloseWithError(err) // nil is EOF: the container has ended
	})
	ch.agent = wire.NewGreeter(out)
	crash.Go(func() { ch.agent.Call(in) })
	return ch
}

func (ch *channel) Read(p []byte) (int, error)  { return ch.agent.Read(p) }
func (ch *channel) Write(p []byte) (int, error) { return ch.in.Write(p) }

// Close ends the container's standard input, and with it the agent.
func (ch *channel) Close() error {
	ch.expected.Store(true)
	err := ch.in.Close()
	ch.cancel()
	ch.out.Close()
	return err
}
