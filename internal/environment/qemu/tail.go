package qemu

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// tail passes everything on and remembers the end of it, for messages.
type tail struct {
	to io.Writer

	mutex sync.Mutex
	end   []byte
}

// The end that a message quotes.
const (
	tailBytes = 4096
	tailLines = 24
)

func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	t.end = append(t.end, p[max(0, len(p)-tailBytes):]...)
	t.end = t.end[max(0, len(t.end)-tailBytes):]
	t.mutex.Unlock()
	if t.to != nil {
		return t.to.Write(p)
	}
	return len(p), nil
}

// lines are the last ones, or nothing.
func (t *tail) lines() []string {
	t.mutex.Lock()
	text := string(bytes.ToValidUTF8(t.end, []byte("?")))
	t.mutex.Unlock()
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		// A serial console ends lines with \r\n and firmware moves the cursor.
		if line = strings.TrimSpace(printable(line)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-tailLines):]
}

func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' {
			return -1
		}
		return r
	}, line)
}
