package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"tare/internal/base/crash"
)

// attach connects to a container of a pod until the streams end.
func (c *cluster) attach(ctx context.Context, pod, container string, streams remotecommand.StreamOptions) error {
	url := c.core.RESTClient().Post().Namespace(c.Namespace).Resource("pods").Name(pod).SubResource("attach").
		VersionedParams(&corev1.PodAttachOptions{Container: container, Stdin: true, Stdout: streams.Stdout != nil, Stderr: streams.Stderr != nil}, scheme.ParameterCodec).URL()
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
	cancel context.CancelFunc
	// expected: the container ends because it is stopped.
	expected atomic.Bool
	ended    chan struct{}
}

// newChannel attaches to the agent and asks it to begin; standard error of the
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
	crash.Go(func() { _, _ = in.Write([]byte("\n")) }) // an error shows where Hello is read
	return ch
}

func (ch *channel) Read(p []byte) (int, error)  { return ch.out.Read(p) }
func (ch *channel) Write(p []byte) (int, error) { return ch.in.Write(p) }

// Close ends the container's standard input, and with it the agent.
func (ch *channel) Close() error {
	ch.expected.Store(true)
	err := ch.in.Close()
	ch.cancel()
	ch.out.Close()
	return err
}
