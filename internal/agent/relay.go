package agent

import (
	"errors"
	"fmt"
	"io"

	"tare/internal/agent/wire"
)

// relayRange is how many requests one side may number before it reaches the
// numbers of the next.
const relayRange = 1 << 28

// relay is a second client of the same agent, somewhere else.
type relay struct {
	first uint32
	queue *wire.Inbox // what the agent answers it
}

func (r *relay) owns(request uint32) bool { return request > r.first }

// Relay lets somebody at the other end of a stream talk to the agent as if he
// stood here: he sees its first word, and his requests go beside this client's
// own. It returns when either the stream or the agent is gone; the stream is
// closed then. A client has one relay in its life.
func (c *Client) Relay(stream io.ReadWriteCloser) error {
	defer stream.Close()
	r := &relay{queue: wire.NewInbox()}
	c.mu.Lock()
	r.first = c.hello.First + relayRange
	twice := c.relay != nil
	if !twice {
		c.relay = r
	}
	c.mu.Unlock()
	if twice {
		return errors.New("the agent is relayed to somebody already")
	}
	hello := c.hello
	hello.First = r.first
	first, err := wire.JSON(wire.TypeHello, 0, hello)
	if err != nil {
		return err
	}
	writer := wire.NewWriter(stream)
	if err := errors.Join(writer.Preamble(), writer.Write(first)); err != nil {
		return fmt.Errorf("relaying the agent: %w", err)
	}
	over := make(chan struct{})
	asked := make(chan error, 1)
	go func() {
		asked <- c.forward(wire.NewReader(stream), r)
		close(over)
	}()
	for {
		f, ok := r.queue.Take(over, c.gone)
		if !ok {
			break
		}
		if err := writer.Write(f); err != nil {
			stream.Close()
			<-over
			return fmt.Errorf("relaying the agent: %w", err)
		}
	}
	if err := c.Err(); err != nil {
		stream.Close()
		<-over
		return err
	}
	return <-asked
}

// forward hands the requests of a relay on, up to the end of its stream.
func (c *Client) forward(reader *wire.Reader, r *relay) error {
	for {
		f, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("relaying the agent: %w", err)
		}
		if !r.owns(f.Request) {
			return fmt.Errorf("relaying the agent: request %d is not the relay's", f.Request)
		}
		if err := c.send(nil, f); err != nil {
			return err
		}
	}
}
