package docker

import (
	"io"
	"strings"
	"sync"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// channel is the agent's stream over a connection attached to a container: the
// engine packs standard output and standard error into one.
type channel struct {
	attached client.HijackedResponse
	out      *io.PipeReader
}

// newChannel takes the attached connection over; what the container prints to
// standard error goes to the console.
func newChannel(attached client.HijackedResponse, console io.Writer) *channel {
	out, in := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(in, console, attached.Reader)
		in.CloseWithError(err) // nil is EOF: the container has ended
	}()
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

// console passes on what it gets and keeps the last of it for messages.
type console struct {
	to   io.Writer
	mu   sync.Mutex
	last []byte
}

const kept = 4 << 10

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.last = append(c.last, p...)
	if extra := len(c.last) - kept; extra > 0 {
		c.last = append([]byte(nil), c.last[extra:]...)
	}
	c.mu.Unlock()
	return c.to.Write(p)
}

// words are the last lines as the end of a message, or "".
func (c *console) words() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(c.last)), "\n")
	lines = lines[max(0, len(lines)-8):]
	if text := strings.Join(lines, "\n  "); text != "" {
		return "\nthe console's last lines:\n  " + text
	}
	return ""
}
