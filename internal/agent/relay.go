package agent

import (
	"errors"
	"fmt"
	"io"

	"tare/internal/agent/wire"
	"tare/internal/base/crash"
)

// relayRange is how many request numbers belong to each client of an agent.
const relayRange = 1 << 28

// maxRelayed is how many requests of a remote client can have full windows at once.
const maxRelayed = 256

// relay is a second, remote client of the same agent.
type relay struct {
	first uint32
	queue *wire.Inbox // frames for the remote client
}

func (r *relay) owns(request uint32) bool { return request > r.first }

// Relay proxies the protocol to a remote client at the other end of a stream.
// The remote client gets the agent's Hello with a range of request numbers, and
// its requests are multiplexed with this client's. Relay returns when the stream
// or the agent's connection ends, and closes the stream. A client can be relayed
// once.
func (c *Client) Relay(stream io.ReadWriteCloser) error {
	defer stream.Close()
	r := &relay{queue: wire.NewInbox(maxRelayed)}
	c.mu.Lock()
	r.first = c.hello.First + relayRange
	twice := c.relay != nil
	if !twice {
		c.relay = r
	}
	c.mu.Unlock()
	if twice {
		return errors.New("the agent is already relayed to another client")
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
	done := make(chan struct{})
	forwarded := make(chan error, 1)
	crash.Go(func() {
		forwarded <- c.forward(wire.NewReader(stream), r)
		close(done)
	})
	for {
		f, ok := r.queue.Take(done, c.gone)
		if !ok {
			break
		}
		if err := writer.Write(f); err != nil {
			stream.Close()
			<-done
			return fmt.Errorf("relaying the agent: %w", err)
		}
	}
	if err := c.Err(); err != nil {
		stream.Close()
		<-done
		return err
	}
	return <-forwarded
}

// forward sends the remote client's frames to the agent until its stream ends.
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
			return fmt.Errorf("relaying the agent: request %d is outside the remote client's range", f.Request)
		}
		if err := c.send(nil, f); err != nil {
			return err
		}
	}
}
