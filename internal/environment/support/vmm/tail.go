package vmm

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"tare/internal/linux/beneath"
)

// Tail is a writer that forwards all data and keeps the end of it for messages.
type Tail struct {
	to io.Writer

	mutex sync.Mutex
	end   []byte
}

// How much a message quotes.
const (
	tailBytes = 4096
	tailLines = 24
)

func (t *Tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	t.end = append(t.end, p[max(0, len(p)-tailBytes):]...)
	t.end = t.end[max(0, len(t.end)-tailBytes):]
	t.mutex.Unlock()
	if t.to != nil {
		return t.to.Write(p)
	}
	return len(p), nil
}

// Lines returns the last lines.
func (t *Tail) Lines() []string {
	t.mutex.Lock()
	text := string(bytes.ToValidUTF8(t.end, []byte("?")))
	t.mutex.Unlock()
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		// Serial consoles end lines with \r\n, and firmware prints escape sequences.
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

// LastLines returns the last lines of a file, none if it cannot be read.
func LastLines(file string) []string {
	f, err := beneath.Open(filepath.Split(file)) // a jailed VMM can put anything there
	if err != nil {
		return nil
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size < tailBytes {
		_, _ = f.Seek(0, io.SeekStart)
	} else {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	t := &Tail{}
	_, _ = io.Copy(t, f)
	return t.Lines()
}
