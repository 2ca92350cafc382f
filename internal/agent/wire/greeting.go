package wire

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// An engine that attaches to a running container may pass on what the client says before
// it passes on what the container answers, which is lost then. So the agent answers each
// empty line with one, until the client says that it has heard. Frames follow.
const (
	calls = '\n' // both sides
	heard = 'b'
	// again is how long the client waits for an answer.
	again = time.Second
)

// AwaitClient returns when a client has heard this side.
func AwaitClient(in io.Reader, out io.Writer) error {
	for said := []byte{0}; ; {
		if _, err := io.ReadFull(in, said); err != nil {
			return fmt.Errorf("waiting for a client: %w", err)
		}
		switch said[0] {
		case calls:
			if _, err := out.Write(said); err != nil {
				return fmt.Errorf("answering the client: %w", err)
			}
		case heard:
			return nil
		default:
			return fmt.Errorf("the client says %q instead of calling", said)
		}
	}
}

// Greeter is the client's end of a stream that begins with the greeting. Nothing else
// may be written to the stream before something was read from here.
type Greeter struct {
	from    io.Reader
	greeted bool
	once    sync.Once
	answer  chan struct{}
}

// NewGreeter returns the client's end of what the agent writes.
func NewGreeter(from io.Reader) *Greeter { return &Greeter{from: from, answer: make(chan struct{})} }

// Call calls the agent until it answers, or the stream ends: where Hello is read, an error
// shows.
func (g *Greeter) Call(to io.Writer) {
	for {
		if _, err := to.Write([]byte{calls}); err != nil {
			return
		}
		select {
		case <-g.answer:
			_, _ = to.Write([]byte{heard})
			return
		case <-time.After(again):
		}
	}
}

// Read returns what comes after the answers.
func (g *Greeter) Read(p []byte) (int, error) {
	if g.greeted || len(p) == 0 {
		return g.from.Read(p)
	}
	for {
		n, err := g.from.Read(p[:1])
		if n == 1 && p[0] != calls {
			g.greeted = true
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		if n == 1 {
			g.once.Do(func() { close(g.answer) })
		}
	}
}
