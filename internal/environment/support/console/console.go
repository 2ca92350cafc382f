// Package console passes on what an instance's kernel, engine or agent prints,
// and keeps the end of it for messages.
package console

import (
	"io"
	"strings"
	"sync"
)

// kept is how much of the end, in bytes and in lines.
const (
	kept      = 4 << 10
	keptLines = 8
)

// Console is a writer that may be used by several at once.
type Console struct {
	to   io.Writer
	mu   sync.Mutex
	last []byte
}

// New passes on to a writer.
func New(to io.Writer) *Console { return &Console{to: to} }

func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, p...)
	if extra := len(c.last) - kept; extra > 0 {
		c.last = append([]byte(nil), c.last[extra:]...)
	}
	return c.to.Write(p)
}

// LastLines are the last lines as the end of a message, or "".
func (c *Console) LastLines() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(c.last)), "\n")
	lines = lines[max(0, len(lines)-keptLines):]
	if text := strings.Join(lines, "\n  "); text != "" {
		return "\nthe console's last lines:\n  " + text
	}
	return ""
}
