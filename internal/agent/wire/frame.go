// Package wire has what both sides of the agent's protocol share: the greeting, frames,
// messages and flow control of many requests multiplexed over one byte stream.
// docs/contributing/agent.md specifies the protocol, and says why it is not yamux.
//
// It is linked into the agent and stays small. It must not know processes, nor
// what the byte stream is.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Protocol is the version of the protocol. Both sides must have the same.
const Protocol = 1

// Preamble is what the agent sends first, so that other output on the stream,
// such as an engine's error message, is detected at the first byte.
const Preamble = "tare-agent 1\n"

// Sizes that both sides enforce.
const (
	// MaxPayload is the maximum payload of a frame; a larger length means that
	// the stream is corrupt.
	MaxPayload = 1 << 20
	// Chunk is the maximum data of one frame, so that a short message never waits
	// long behind output.
	Chunk = 32 << 10
	// Window is the flow-control window: how many bytes of data a side may send
	// for one request before the peer has granted more.
	Window = 256 << 10
	// MaxControl is how many bytes of frames without data, with their headers, can wait
	// for the handler of a request.
	MaxControl = 64 << 10

	headerSize = 9
)

// Type is the type of a frame.
type Type byte

// The types. Data, Stdout and Stderr hold raw bytes, which count against the
// window; Credit holds four bytes; all others hold JSON.
const (
	TypeHello    Type = 1  // agent: Hello, once, request 0
	TypeStart    Type = 2  // host: Start; answered by Started and later Exit
	TypeStarted  Type = 3  // agent: Started
	TypeStdout   Type = 4  // agent: raw output
	TypeStderr   Type = 5  // agent: raw output
	TypeExit     Type = 6  // agent: Exit; the request is done
	TypeSignal   Type = 7  // host: Signal; answered by Reply
	TypeAwait    Type = 8  // host: Probe; answered by Reply with Awaited
	TypeRead     Type = 9  // host: Read; answered by Data, then End
	TypeWrite    Type = 10 // host: Write, then Data and End; answered by Reply
	TypeClock    Type = 11 // host: answered by Reply with Clock
	TypeShutdown Type = 12 // host: answered by Reply once all processes are killed
	TypeCancel   Type = 13 // host: abort this request; it is still answered
	TypeData     Type = 14 // both: raw bytes (standard input, a file)
	TypeEnd      Type = 15 // both: no more Data for this request
	TypeCredit   Type = 16 // both: big-endian uint32, bytes granted to the sender
	TypeReply    Type = 17 // agent: the request is done
	TypeError    Type = 18 // agent: Failure; the request is done
	TypeSocket   Type = 19 // host: answered by Reply with Socket
)

// Frame is one message: payload length (4 bytes, big-endian), type (1), request
// (4), payload.
type Frame struct {
	Type    Type
	Request uint32
	Payload []byte
}

// JSON encodes a message as a frame.
func JSON(t Type, request uint32, message any) (Frame, error) {
	payload, err := json.Marshal(message)
	if err != nil {
		return Frame{}, err
	}
	if len(payload) > MaxPayload {
		return Frame{}, fmt.Errorf("the message is %d bytes long, the protocol allows at most %d", len(payload), MaxPayload)
	}
	return Frame{t, request, payload}, nil
}

// Decode decodes the frame's JSON into a message.
func (f Frame) Decode(message any) error {
	if err := json.Unmarshal(f.Payload, message); err != nil {
		return fmt.Errorf("decoding frame of type %d for request %d: %w", f.Type, f.Request, err)
	}
	return nil
}

// Credit returns a frame that grants bytes.
func Credit(request uint32, bytes int) Frame {
	return Frame{TypeCredit, request, binary.BigEndian.AppendUint32(nil, uint32(bytes))}
}

// Granted decodes a credit frame.
func (f Frame) Granted() (int, error) {
	if len(f.Payload) != 4 {
		return 0, fmt.Errorf("a credit frame holds %d bytes instead of 4", len(f.Payload))
	}
	n := binary.BigEndian.Uint32(f.Payload)
	if n > Window {
		return 0, fmt.Errorf("a credit frame grants %d bytes, which exceeds the window of %d", n, Window)
	}
	return int(n), nil
}

// Reader reads frames from a stream.
type Reader struct{ buffer *bufio.Reader }

// NewReader returns a Reader of a stream.
func NewReader(stream io.Reader) *Reader {
	return &Reader{bufio.NewReaderSize(stream, Chunk+headerSize)}
}

// Preamble checks that the stream begins with the preamble. The error quotes
// what was read instead.
func (r *Reader) Preamble() error {
	for n := 1; n <= len(Preamble); n++ {
		got, err := r.buffer.Peek(n)
		if len(got) < n {
			return fmt.Errorf("the stream ended after %q: %w", got, err)
		}
		if got[n-1] != Preamble[n-1] {
			got, _ = r.buffer.Peek(min(r.buffer.Buffered(), 400))
			return fmt.Errorf("not the output of an agent of this protocol: %q", got)
		}
	}
	_, err := r.buffer.Discard(len(Preamble))
	return err
}

// Next reads the next frame. It returns io.EOF if the stream ended between two
// frames, io.ErrUnexpectedEOF if it ended within one.
func (r *Reader) Next() (Frame, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r.buffer, head[:]); err != nil {
		return Frame{}, err
	}
	length := binary.BigEndian.Uint32(head[0:])
	f := Frame{Type: Type(head[4]), Request: binary.BigEndian.Uint32(head[5:])}
	if f.Type < TypeHello || f.Type > TypeSocket || length > MaxPayload {
		return Frame{}, fmt.Errorf("the stream is corrupt: frame of type %d with %d bytes", f.Type, length)
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

// Writer writes frames to a stream, each with one Write call. It is safe for
// concurrent use.
type Writer struct {
	mu      sync.Mutex
	stream  io.Writer
	scratch []byte
	err     error
}

// NewWriter returns a Writer to a stream.
func NewWriter(stream io.Writer) *Writer { return &Writer{stream: stream} }

// Preamble writes the preamble.
func (w *Writer) Preamble() error {
	_, err := io.WriteString(w.stream, Preamble)
	return err
}

// Write writes one frame. After an error every later call returns that error.
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
