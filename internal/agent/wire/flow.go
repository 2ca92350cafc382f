package wire

import "sync"

// Inbox queues the frames of one request between the goroutine that reads the
// stream, which must never block, and the one that handles the request. The
// flow-control window bounds its data, and MaxControl its other frames.
type Inbox struct {
	mu            sync.Mutex
	queue         []Frame
	data, control int // bytes in the queue
	requests      int // that share it
	wake          chan struct{}
}

// NewInbox returns an empty inbox for the frames of some requests.
func NewInbox(requests int) *Inbox {
	return &Inbox{requests: requests, wake: make(chan struct{}, 1)}
}

// Put appends a frame. It returns false if the peer exceeded the bounds.
func (b *Inbox) Put(f Frame) bool {
	b.mu.Lock()
	b.count(f, 1)
	b.queue = append(b.queue, f)
	fits := b.data <= b.requests*Window && b.control <= b.requests*MaxControl
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return fits
}

// Take waits for the next frame. It returns false if a stop channel was closed
// and the queue is empty.
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
	b.count(f, -1)
	return f, true
}

// count adds a frame to what is in the queue, or takes it out. A frame without data
// takes memory too.
func (b *Inbox) count(f Frame, sign int) {
	if len(f.Payload) > 0 && (f.Type == TypeData || f.Type == TypeStdout || f.Type == TypeStderr) {
		b.data += sign * len(f.Payload)
	} else {
		b.control += sign * (headerSize + len(f.Payload))
	}
}

// SendWindow counts the bytes that a side may still send for one request.
type SendWindow struct {
	mu   sync.Mutex
	left int
	wake chan struct{}
}

// NewSendWindow returns a full window.
func NewSendWindow() *SendWindow { return &SendWindow{left: Window, wake: make(chan struct{}, 1)} }

// Add returns bytes that the peer granted to the window.
func (a *SendWindow) Add(bytes int) {
	a.mu.Lock()
	a.left += bytes
	a.mu.Unlock()
	a.signal()
}

// Take waits until the window is not empty and takes at most want bytes of it.
// It returns 0 if a stop channel was closed.
func (a *SendWindow) Take(want int, one, two <-chan struct{}) int {
	for {
		a.mu.Lock()
		got := min(want, a.left)
		a.left -= got
		more := a.left > 0
		a.mu.Unlock()
		if got > 0 {
			if more {
				a.signal() // stdout and stderr of one request share the window
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

// ReceiveWindow counts consumed bytes and batches them into grants: fewer than
// one per frame, and early enough that the sender's window does not run empty.
type ReceiveWindow struct{ bytes int }

// Add counts consumed bytes and returns how many to grant now, 0 for none.
func (c *ReceiveWindow) Add(bytes int) (grant int) {
	c.bytes += bytes
	if c.bytes < Window/4 {
		return 0
	}
	grant, c.bytes = c.bytes, 0
	return grant
}
