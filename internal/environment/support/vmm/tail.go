package vmm

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
)

// Tail passes everything on and remembers the end of it, for messages.
type Tail struct {
	to io.Writer

	mutex sync.Mutex
	end   []byte
}

// The end that a message quotes.
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

// Lines are the last ones, or nothing.
func (t *Tail) Lines() []string {
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

// LastLines are those at the end of a file; none where it cannot be read.
func LastLines(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size < tailBytes {
		f.Seek(0, io.SeekStart)
	} else {
		f.Seek(-tailBytes, io.SeekEnd)
	}
	t := &Tail{}
	io.Copy(t, f)
	return t.Lines()
}
