package remote

import (
	"fmt"
	"io"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// Silence is the default time without data or a keep-alive from the other side
// after which the link counts as lost.
const Silence = 20 * time.Second

// link is a stream that keeps the reason of its end.
type link struct {
	io.ReadWriteCloser
	mu  sync.Mutex
	why error
}

func (l *link) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = err
	}
}

func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

func (l *link) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	if err == io.EOF {
		l.note(fmt.Errorf("its stream ended"))
	} else if err != nil {
		l.note(err)
	}
	return n, err
}

func (l *link) Write(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Write(p)
	if err != nil {
		l.note(err)
	}
	return n, err
}

// settings are those of the multiplexer. Its log becomes the link's reason.
func (l *link) settings(silence time.Duration) *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval = silence / 4
	c.ConnectionWriteTimeout = silence * 3 / 4
	c.StreamOpenTimeout = 0
	c.MaxStreamWindowSize = 4 << 20
	c.LogOutput, c.Logger = nil, log.New(logWriter{l, silence}, "", 0)
	return c
}

// logWriter receives the multiplexer's log.
type logWriter struct {
	link    *link
	silence time.Duration
}

func (c logWriter) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "keepalive failed") {
		c.link.note(fmt.Errorf("no data for %v", c.silence))
	}
	return len(line), nil
}
