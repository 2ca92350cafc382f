package wire

import "sync"

// Inbox queues the frames of one request between the goroutine that reads the
// stream, which must never block, and the one that works on the request. The
// window bounds it.
type Inbox struct {
	mu    sync.Mutex
	queue []Frame
	held  int
	wake  chan struct{}
}

// NewInbox makes an empty inbox.
func NewInbox() *Inbox { return &Inbox{wake: make(chan struct{}, 1)} }

// Put appends a frame. It reports false when the other side sent more data
// than the window allows.
func (b *Inbox) Put(f Frame) bool {
	b.mu.Lock()
	if f.isData() {
		b.held += len(f.Payload)
	}
	b.queue = append(b.queue, f)
	fits := b.held <= Window
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return fits
}

// Take returns the next frame, or false when one of the stop channels was
// closed and nothing is queued.
func (b *Inbox) Take(one, two <-chan struct{}) (Frame, bool) {
	for {
		if f, ok := b.pop(); ok {
			return f, true
		}
		select {
		case <-b.wake:
		case <-one:
			return b.pop()
		case <-two:
			return b.pop()
		}
	}
}

func (b *Inbox) pop() (Frame, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return Frame{}, false
	}
	f := b.queue[0]
	b.queue[0] = Frame{}
	b.queue = b.queue[1:]
	if len(b.queue) == 0 {
		b.queue = nil
	}
	if f.isData() {
		b.held -= len(f.Payload)
	}
	return f, true
}

func (f Frame) isData() bool {
	return f.Type == TypeData || f.Type == TypeStdout || f.Type == TypeStderr
}

// SendWindow is how many bytes a side may still send for one request.
type SendWindow struct {
	mu   sync.Mutex
	left int
	wake chan struct{}
}

// NewSendWindow starts with a whole window.
func NewSendWindow() *SendWindow { return &SendWindow{left: Window, wake: make(chan struct{}, 1)} }

// Add takes a grant of the other side.
func (a *SendWindow) Add(bytes int) {
	a.mu.Lock()
	a.left += bytes
	a.mu.Unlock()
	a.signal()
}

// Take waits until something may be sent and claims at most want bytes of it.
// It returns 0 when a stop channel was closed.
func (a *SendWindow) Take(want int, one, two <-chan struct{}) int {
	for {
		a.mu.Lock()
		got := min(want, a.left)
		a.left -= got
		more := a.left > 0
		a.mu.Unlock()
		if got > 0 {
			if more {
				a.signal() // another stream of the same request may wait too
			}
			return got
		}
		select {
		case <-a.wake:
		case <-one:
			return 0
		case <-two:
			return 0
		}
	}
}

func (a *SendWindow) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// ReceiveWindow counts what was worked off and says when it is worth a grant: not
// for every frame, and early enough that the sender never runs dry.
type ReceiveWindow struct{ bytes int }

// Add returns the bytes to grant now, 0 for none.
func (c *ReceiveWindow) Add(bytes int) (grant int) {
	c.bytes += bytes
	if c.bytes < Window/4 {
		return 0
	}
	grant, c.bytes = c.bytes, 0
	return grant
}
