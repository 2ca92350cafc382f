package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/testing/fuzzing"
)

// recorded is an agent that says the same whatever it is asked. It stays connected
// until it was read to its end, and takes what it is sent.
type recorded struct {
	io.Reader
	closing sync.Once
	closed  chan struct{}
}

func (r *recorded) Write(p []byte) (int, error) { return len(p), nil }
func (r *recorded) Close() error                { r.closing.Do(func() { close(r.closed) }); return nil }

// FuzzHost: whatever an agent sends, each call of the host ends, no more is taken than
// was asked for, and errors are the agent's own, or say that it is gone.
func FuzzHost(f *testing.F) {
	say := func(frames ...wire.Frame) []byte {
		var out bytes.Buffer
		w := wire.NewWriter(&out)
		for _, frame := range frames {
			w.Write(frame)
		}
		return out.Bytes()
	}
	message := func(t wire.Type, request uint32, m any) wire.Frame {
		frame, err := wire.JSON(t, request, m)
		if err != nil {
			f.Fatal(err)
		}
		return frame
	}
	hello := message(wire.TypeHello, 0, wire.Hello{Protocol: wire.Protocol})
	f.Add(uint8(0), say(hello, message(wire.TypeStarted, 1, wire.Started{PID: 7}), wire.Frame{Type: wire.TypeStdout, Request: 1, Payload: []byte("out")}, message(wire.TypeExit, 1, wire.Exit{Code: 3})))
	f.Add(uint8(1), say(hello, wire.Frame{Type: wire.TypeData, Request: 1, Payload: make([]byte, 90)}, wire.Frame{Type: wire.TypeEnd, Request: 1}))
	f.Add(uint8(2), say(hello, wire.Credit(1, 4096), message(wire.TypeReply, 1, struct{}{})))
	f.Add(uint8(3), say(hello, message(wire.TypeReply, 1, wire.Clock{Clock: 5})))
	f.Add(uint8(4), say(hello, message(wire.TypeError, 1, wire.Failure{Message: "no such file", Errno: 2})))
	f.Add(uint8(5), say(hello, message(wire.TypeReply, 1, struct{}{})))
	f.Fuzz(func(t *testing.T, call uint8, stream []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		const asked = 100
		fuzzing.Allocates(t, 8<<20+uint64(len(stream))*100, func() {
			r := &recorded{Reader: io.MultiReader(bytes.NewReader([]byte(wire.Preamble)), bytes.NewReader(stream)), closed: make(chan struct{})}
			c, err := agent.Connect(ctx, r)
			if err != nil {
				<-r.closed
				return
			}
			var out bytes.Buffer
			switch call % 6 {
			case 0:
				_, err = c.Run(ctx, agent.Command{Argv: []string{"x"}, Stdin: bytes.NewReader(make([]byte, 9)), Stdout: &out, Stderr: &out})
			case 1:
				var data []byte
				data, err = c.ReadFile(ctx, "/x", asked)
				if len(data) > asked {
					t.Errorf("%d bytes", len(data))
				}
			case 2:
				err = c.WriteFile(ctx, "/x", 0, make([]byte, 2*wire.Window))
			case 3:
				_, err = c.Clock(ctx)
			case 4:
				_, err = c.Await(ctx, agent.Probe{TCP: "x"})
			case 5:
				err = c.Shutdown(ctx)
			}
			if ctx.Err() != nil {
				t.Errorf("call %d does not end: %v", call%6, err)
			}
			var remote *agent.RemoteError
			if !errors.Is(err, agent.ErrGone) && !errors.As(err, &remote) && err != nil && len(err.Error()) > 8<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if out.Len() > len(stream) {
				t.Errorf("%d bytes of output", out.Len())
			}
			c.Close()
			<-c.Done()
		})
	})
}
