package docker

import (
	"io"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"tare/internal/base/crash"
)

// channel is the agent's stream over a connection attached to a container, in which the
// engine multiplexes standard output and standard error.
type channel struct {
	attached client.HijackedResponse
	out      *io.PipeReader
}

// newChannel takes over the attached connection; standard error of the container goes
// to the console.
func newChannel(attached client.HijackedResponse, console io.Writer) *channel {
	out, in := io.Pipe()
	crash.Go(func() {
		_, err := stdcopy.StdCopy(in, console, attached.Reader)
		in.CloseWithError(err) // nil is EOF: the container has ended
	})
	return &channel{attached: attached, out: out}
}

func (c *channel) Read(p []byte) (int, error)  { return c.out.Read(p) }
func (c *channel) Write(p []byte) (int, error) { return c.attached.Conn.Write(p) }

// Close ends the container's standard input, and with it the agent.
func (c *channel) Close() error {
	err := c.attached.Conn.Close()
	c.out.Close()
	return err
}
