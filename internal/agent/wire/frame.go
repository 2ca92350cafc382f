// Package wire is what the two sides of the agent's protocol share: frames,
// messages and flow control. docs/agent.md describes it in words.
//
// It is linked into the agent, so it stays small: it knows neither processes
// nor how the byte stream came about.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Protocol is the version of the protocol. Both sides must speak the same.
const Protocol = 1

// Preamble opens the agent's side of the stream, so that anything else that
// prints there (an engine's error message) is told apart at the first byte.
const Preamble = "tare-agent 1\n"

// Sizes that both sides keep to.
const (
	// MaxPayload bounds a frame; a longer length can only be a broken stream.
	MaxPayload = 1 << 20
	// Chunk is how much data one frame carries at most, so that a short message
	// never waits long behind output.
	Chunk = 32 << 10
	// Window is how many bytes of data a side may send for one request before
	// the other side has granted more.
	Window = 256 << 10

	headerSize = 9
)

// Type says what a frame means.
type Type byte

// The types. "Data" frames (Data, Stdout, Stderr) carry raw bytes and are
// counted against the window; Credit carries four bytes; all others JSON.
const (
	TypeHello    Type = 1  // agent: Hello, once, request 0
	TypeStart    Type = 2  // host: Start; answered by Started and later Exit
	TypeStarted  Type = 3  // agent: Started
	TypeStdout   Type = 4  // agent: raw output
	TypeStderr   Type = 5  // agent: raw output
	TypeExit     Type = 6  // agent: Exit; the request is over
	TypeSignal   Type = 7  // host: Signal; answered by Reply
	TypeAwait    Type = 8  // host: Probe; answered by Reply with Awaited
	TypeRead     Type = 9  // host: Read; answered by Data, then End
	TypeWrite    Type = 10 // host: Write, then Data and End; answered by Reply
	TypeClock    Type = 11 // host: answered by Reply with Clock
	TypeShutdown Type = 12 // host: answered by Reply once all is killed
	TypeCancel   Type = 13 // host: give this request up; it is still answered
	TypeData     Type = 14 // both: raw bytes (standard input, a file)
	TypeEnd      Type = 15 // both: no more Data for this request
	TypeCredit   Type = 16 // both: big-endian uint32, so many more bytes may come
	TypeReply    Type = 17 // agent: the request is done
	TypeError    Type = 18 // agent: Failure; the request is over
)

// Frame is one message: payload length (4 bytes, big-endian), type (1), request
// (4), payload.
type Frame struct {
	Type    Type
	Request uint32
	Payload []byte
}

// JSON makes a frame of a message.
func JSON(t Type, request uint32, message any) (Frame, error) {
	payload, err := json.Marshal(message)
	if err != nil {
		return Frame{}, err
	}
	if len(payload) > MaxPayload {
		return Frame{}, fmt.Errorf("the message is %d bytes long, the protocol carries at most %d", len(payload), MaxPayload)
	}
	return Frame{t, request, payload}, nil
}

// Decode reads the frame's JSON into a message.
func (f Frame) Decode(message any) error {
	if err := json.Unmarshal(f.Payload, message); err != nil {
		return fmt.Errorf("frame of type %d for request %d holds no message that this side understands: %w", f.Type, f.Request, err)
	}
	return nil
}

// Credit makes a frame that grants bytes.
func Credit(request uint32, bytes int) Frame {
	return Frame{TypeCredit, request, binary.BigEndian.AppendUint32(nil, uint32(bytes))}
}

// Granted reads a credit frame.
func (f Frame) Granted() (int, error) {
	if len(f.Payload) != 4 {
		return 0, fmt.Errorf("a credit frame holds %d bytes instead of 4", len(f.Payload))
	}
	n := binary.BigEndian.Uint32(f.Payload)
	if n > Window {
		return 0, fmt.Errorf("a credit frame grants %d bytes, more than the window of %d", n, Window)
	}
	return int(n), nil
}

// Reader takes frames off a stream.
type Reader struct{ buffer *bufio.Reader }

// NewReader reads frames from a stream.
func NewReader(stream io.Reader) *Reader {
	return &Reader{bufio.NewReaderSize(stream, Chunk+headerSize)}
}

// Preamble checks that the stream begins as an agent's does. What came instead
// is part of the error.
func (r *Reader) Preamble() error {
	for n := 1; n <= len(Preamble); n++ {
		got, err := r.buffer.Peek(n)
		if len(got) < n {
			return fmt.Errorf("the stream ended after %q: %w", got, err)
		}
		if got[n-1] != Preamble[n-1] {
			got, _ = r.buffer.Peek(min(r.buffer.Buffered(), 400))
			return fmt.Errorf("something other than the agent of this protocol wrote %q", got)
		}
	}
	_, err := r.buffer.Discard(len(Preamble))
	return err
}

// Next returns the next frame. io.EOF is an end between two frames,
// io.ErrUnexpectedEOF one inside a frame.
func (r *Reader) Next() (Frame, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r.buffer, head[:]); err != nil {
		return Frame{}, err
	}
	length := binary.BigEndian.Uint32(head[0:])
	f := Frame{Type: Type(head[4]), Request: binary.BigEndian.Uint32(head[5:])}
	if f.Type < TypeHello || f.Type > TypeError || length > MaxPayload {
		return Frame{}, fmt.Errorf("the stream is broken: no frame has type %d and %d bytes", f.Type, length)
	}
	if length == 0 {
		return f, nil
	}
	f.Payload = make([]byte, length)
	if _, err := io.ReadFull(r.buffer, f.Payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return f, nil
}

// Writer puts frames onto a stream, each in one write. It may be used by
// several goroutines.
type Writer struct {
	mu      sync.Mutex
	stream  io.Writer
	scratch []byte
	err     error
}

// NewWriter writes frames to a stream.
func NewWriter(stream io.Writer) *Writer { return &Writer{stream: stream} }

// Preamble opens the agent's side.
func (w *Writer) Preamble() error {
	_, err := io.WriteString(w.stream, Preamble)
	return err
}

// Write sends one frame. After an error the stream is unusable and every later
// write returns the same error.
func (w *Writer) Write(f Frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	b := binary.BigEndian.AppendUint32(w.scratch[:0], uint32(len(f.Payload)))
	b = append(b, byte(f.Type))
	b = binary.BigEndian.AppendUint32(b, f.Request)
	b = append(b, f.Payload...)
	if cap(b) <= 2*Chunk {
		w.scratch = b
	}
	_, w.err = w.stream.Write(b)
	return w.err
}
