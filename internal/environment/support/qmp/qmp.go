// Package qmp is a client of the QEMU Machine Protocol (QMP): it negotiates,
// executes commands concurrently, and delivers events. It must not know what the
// commands mean.
package qmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"tare/internal/base/bounded"
	"tare/internal/base/crash"
)

// Event is an asynchronous event.
type Event struct {
	Name string          `json:"event"`
	Data json.RawMessage `json:"data"`
}

// Error is the error response to a command.
type Error struct {
	Command string `json:"-"`
	Class   string `json:"class"`
	Desc    string `json:"desc"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("QEMU refused %s: %s (%s)", e.Command, e.Desc, e.Class)
}

// Monitor is a QMP connection. Its methods are safe for concurrent use.
type Monitor struct {
	conn   io.ReadWriteCloser
	events func(Event)

	writing sync.Mutex
	mutex   sync.Mutex
	next    uint64
	waiting map[uint64]chan message
	lost    error // why the connection was lost
	done    chan struct{}
}

// message is any message from QEMU.
type message struct {
	Greeting *struct{} `json:"QMP"`
	Event
	ID     *uint64         `json:"id"`
	Return json.RawMessage `json:"return"`
	Error  *Error          `json:"error"`
}

// Open waits for the greeting and negotiates capabilities. events is called with
// every event, in order, from the goroutine that also dispatches responses: it
// must not execute commands. On an error the connection is closed.
func Open(ctx context.Context, conn io.ReadWriteCloser, events func(Event)) (*Monitor, error) {
	m := &Monitor{conn: conn, events: events, waiting: map[uint64]chan message{}, done: make(chan struct{})}
	greeting := make(chan message, 1)
	crash.Go(func() { m.read(greeting) })
	first, err := m.await(ctx, greeting)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("waiting for QEMU's greeting: %w", err)
	}
	if first.Greeting == nil {
		conn.Close()
		return nil, errors.New("the first message of the QMP connection is not a greeting")
	}
	if err := m.Execute(ctx, "qmp_capabilities", nil, nil); err != nil {
		conn.Close()
		return nil, err
	}
	return m, nil
}

// Done is closed when the connection was lost.
func (m *Monitor) Done() <-chan struct{} { return m.done }

// Close closes the connection. QEMU keeps running.
func (m *Monitor) Close() error { return m.conn.Close() }

// Execute runs a command and decodes its return value; arguments and result may
// be nil. An error response is returned as an *Error.
func (m *Monitor) Execute(ctx context.Context, command string, arguments, result any) error {
	answer := make(chan message, 1)
	m.mutex.Lock()
	if m.lost != nil {
		m.mutex.Unlock()
		return fmt.Errorf("executing %s in QEMU: %w", command, m.lost)
	}
	m.next++
	id := m.next
	m.waiting[id] = answer
	m.mutex.Unlock()
	defer func() {
		m.mutex.Lock()
		delete(m.waiting, id)
		m.mutex.Unlock()
	}()

	line, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
		ID        uint64 `json:"id"`
	}{command, arguments, id})
	if err != nil {
		return fmt.Errorf("encoding the arguments of %s: %w", command, err)
	}
	if err := m.write(ctx, append(line, '\n')); err != nil {
		return fmt.Errorf("executing %s in QEMU: %w", command, err)
	}
	a, err := m.await(ctx, answer)
	if err != nil {
		return fmt.Errorf("executing %s in QEMU: %w", command, err)
	}
	if a.Error != nil {
		a.Error.Command = command
		return a.Error
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(a.Return, result); err != nil {
		return fmt.Errorf("decoding QEMU's response to %s: %w", command, err)
	}
	return nil
}

// await waits for a message. One that came before the connection was lost counts:
// QEMU answers quit and exits.
func (m *Monitor) await(ctx context.Context, from <-chan message) (message, error) {
	select {
	case got := <-from:
		return got, nil
	case <-m.done:
	case <-ctx.Done():
		return message{}, fmt.Errorf("no response: %w", ctx.Err())
	}
	select {
	case got := <-from:
		return got, nil
	default:
		return message{}, m.lost
	}
}

// write writes a line. If the context ends first, it closes the connection, since
// a truncated line would corrupt the stream.
func (m *Monitor) write(ctx context.Context, line []byte) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	stop := context.AfterFunc(ctx, func() { m.conn.Close() })
	_, err := m.conn.Write(line)
	if !stop() && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (m *Monitor) read(greeting chan<- message) {
	messages := bounded.NewValues(m.conn, bounded.Answer)
	greeted := false
	for {
		var got message
		if err := messages.Next(&got); err != nil {
			m.lose(err)
			return
		}
		switch {
		case !greeted:
			greeted = true
			greeting <- got
		case got.Name != "":
			if m.events != nil {
				m.events(got.Event)
			}
		case got.ID != nil:
			m.mutex.Lock()
			if answer, ok := m.waiting[*got.ID]; ok {
				answer <- got
				delete(m.waiting, *got.ID)
			}
			m.mutex.Unlock()
		}
	}
}

func (m *Monitor) lose(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
		err = errors.New("the connection was closed")
	}
	m.mutex.Lock()
	m.lost = err
	m.mutex.Unlock()
	close(m.done)
}
