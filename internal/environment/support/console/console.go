// Package console forwards what an instance's kernel, engine or agent prints, and keeps
// the last lines for error messages.
//
// It must not know environments.
package console

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"tare/internal/base/quoted"
	"tare/internal/linux/beneath"
)

// How much is kept, and how much a message quotes.
const (
	kept      = 4 << 10
	keptLines = 24
	lastLines = 8
)

// Console is a writer for concurrent use.
type Console struct {
	to   io.Writer
	mu   sync.Mutex
	last []byte
}

// New makes a console that forwards to a writer; nil for none.
func New(to io.Writer) *Console { return &Console{to: to} }

func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, p[max(0, len(p)-kept):]...)
	c.last = c.last[max(0, len(c.last)-kept):]
	if c.to == nil {
		return len(p), nil
	}
	return c.to.Write(p)
}

// Lines returns the last lines that have text.
func (c *Console) Lines() (lines []string) {
	c.mu.Lock()
	text := string(bytes.ToValidUTF8(c.last, []byte("?")))
	c.mu.Unlock()
	for line := range strings.Lines(text) {
		// Serial consoles end lines with \r\n, and firmware prints escape sequences.
		if line = strings.TrimSpace(strings.Map(printable, line)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-keptLines):]
}

func printable(r rune) rune {
	if r < ' ' && r != '\t' {
		return -1
	}
	return r
}

// LastLines are the last lines, formatted as the end of an error message; "" for none.
func (c *Console) LastLines() string {
	lines := c.Lines()
	return quoted.Lines("last lines of the console", lines[max(0, len(lines)-lastLines):])
}

// What Linux prints where it panics: the function that it was in, and why.
var (
	inFunction = regexp.MustCompile(`RIP: 0010:(\w+)\+0x`)
	panicked   = regexp.MustCompile(`Kernel panic - not syncing: (.{1,200})`)
)

// Panic is why a kernel panicked, and in which function, by its last lines; "" if it did not.
func Panic(lines []string) string {
	in := ""
	for _, line := range lines {
		if at := inFunction.FindStringSubmatch(line); at != nil {
			in = ", in " + at[1]
		}
		if why := panicked.FindStringSubmatch(line); why != nil {
			return strings.TrimSpace(why[1]) + in
		}
	}
	return ""
}

// OfFile returns the last lines of a file, none if it cannot be read.
func OfFile(file string) []string {
	f, err := beneath.Open(filepath.Split(file)) // a jailed VMM can put anything there
	if err != nil {
		return nil
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-kept), io.SeekStart)
	}
	c := New(nil)
	_, _ = io.Copy(c, f)
	return c.Lines()
}
