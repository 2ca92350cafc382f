package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// progress shows what is under way: on a terminal in one line that is
// overwritten, elsewhere, as in the log of a CI host, in one line a minute.
type progress struct {
	out   io.Writer
	width int // of the terminal, or 0
	shown bool
}

func newProgress(out io.Writer, width int) *progress { return &progress{out: out, width: width} }

func (p *progress) interval() time.Duration {
	if p.width > 0 {
		return time.Second
	}
	return time.Minute
}

// Write prints what stays, in place of the line that is overwritten.
func (p *progress) Write(text []byte) (int, error) {
	p.clear()
	return p.out.Write(text)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) show(running []string) {
	p.clear()
	if len(running) == 0 {
		return
	}
	if p.width == 0 {
		for _, line := range running {
			fmt.Fprintf(p.out, "...     %s\n", line)
		}
		return
	}
	line := strings.Join(running, "; ")
	if utf8.RuneCountInString(line) >= p.width {
		line = string([]rune(line)[:max(0, p.width-2)]) + "…"
	}
	fmt.Fprint(p.out, line)
	p.shown = true
}
