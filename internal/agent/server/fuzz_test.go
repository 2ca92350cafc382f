package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/agent/server"
	"tare/internal/agent/wire"
	"tare/internal/testing/fuzzing"
)

// harmless is a host's frame that touches nothing: commands are cat, and files are
// devices. The agent refuses what cannot be decoded.
func harmless(f wire.Frame) wire.Frame {
	switch f.Type {
	case wire.TypeStart:
		return with(f, func(m *wire.Start) {
			m.User, m.Timeout = "", time.Second
			m.Env = slices.DeleteFunc(m.Env, func(v string) bool { return strings.HasPrefix(v, "LD_") })
			if len(m.Argv) > 0 {
				m.Argv = []string{"/bin/cat"}
			}
		})
	case wire.TypeAwait:
		return with(f, func(m *wire.Await) {
			m.TCP, m.HTTP, m.Unix, m.Timeout = "", "", os.DevNull, time.Millisecond
			if len(m.Exec) > 0 {
				m.Exec = []string{"/bin/false"}
			}
		})
	case wire.TypeRead:
		return with(f, func(m *wire.Read) { m.Path = "/dev/zero" })
	case wire.TypeWrite:
		return with(f, func(m *wire.Write) { m.Path = os.DevNull })
	}
	return f
}

func with[T any](f wire.Frame, change func(*T)) wire.Frame {
	var m T
	if f.Decode(&m) == nil {
		change(&m)
		f.Payload, _ = json.Marshal(m) // it came from JSON
	}
	return f
}

// answers are what an agent sends; a request can still be answered when it has ended.
type answers struct {
	io.Reader
	mu   sync.Mutex
	sent []byte
}

func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = append(a.sent, p...)
	return len(p), nil
}

// FuzzAgent: whatever a host sends, the agent ends with the stream, answers in frames
// that the host can read, and leaves no process.
func FuzzAgent(f *testing.F) {
	var seed bytes.Buffer
	w := wire.NewWriter(&seed)
	for i, m := range []any{wire.Start{Argv: []string{"cat"}, Stdin: true, Stdout: true}, wire.Read{Path: "x", Limit: 9}, wire.Write{Path: "x"}, wire.Await{Once: true}, wire.Signal{Process: 1, Number: 9}} {
		frame, err := wire.JSON([]wire.Type{wire.TypeStart, wire.TypeRead, wire.TypeWrite, wire.TypeAwait, wire.TypeSignal}[i], uint32(i+1), m)
		if err != nil {
			f.Fatal(err)
		}
		w.Write(frame)
	}
	w.Write(wire.Frame{Type: wire.TypeData, Request: 1, Payload: []byte("x")})
	w.Write(wire.Frame{Type: wire.TypeData, Request: 3, Payload: []byte("x")})
	w.Write(wire.Frame{Type: wire.TypeEnd, Request: 3})
	w.Write(wire.Credit(1, 99))
	w.Write(wire.Frame{Type: wire.TypeCancel, Request: 1})
	w.Write(wire.Frame{Type: wire.TypeClock, Request: 8})
	f.Add(seed.Bytes())
	w.Write(wire.Frame{Type: wire.TypeShutdown, Request: 9})
	f.Add(seed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		var stream bytes.Buffer
		in, out := wire.NewReader(bytes.NewReader(data)), wire.NewWriter(&stream)
		for frame, err := in.Next(); err == nil; frame, err = in.Next() {
			if frame.Type != wire.TypeSocket { // its stream ends with a host
				out.Write(harmless(frame))
			}
		}
		if stream.Len() == 0 {
			stream.Write(data[:min(len(data), 8)]) // the begin of a frame
		}
		a := &answers{Reader: &stream}
		fuzzing.Allocates(t, 64<<20, func() {
			_ = server.Serve(a, server.Options{})
		})
		a.mu.Lock()
		back := wire.NewReader(bytes.NewReader(slices.Clone(a.sent)))
		a.mu.Unlock()
		if err := back.Preamble(); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := back.Next(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("the agent's stream: %v", err)
			}
		}
	})
}
