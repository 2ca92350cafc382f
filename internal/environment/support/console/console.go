// Package console forwards what an instance's kernel, engine or agent prints, and keeps
// the last lines for error messages.
package console

import (
	"io"
	"strings"
	"sync"
)

// Limits of what is kept for LastLines.
const (
	kept      = 4 << 10
	keptLines = 8
)

// Console is a writer for concurrent use.
type Console struct {
	to   io.Writer
	mu   sync.Mutex
	last []byte
}

// New makes a console that forwards to a writer.
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

// LastLines are the last lines, formatted as the end of an error message; "" for none.
func (c *Console) LastLines() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(c.last)), "\n")
	lines = lines[max(0, len(lines)-keptLines):]
	if text := strings.Join(lines, "\n  "); text != "" {
		return "\nlast lines of the console:\n  " + text
	}
	return ""
}
