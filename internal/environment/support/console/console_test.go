package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestTheConsoleKeepsTheLastLinesAndPassesAllOn(t *testing.T) {
	var all bytes.Buffer
	tail := New(&all)
	for n := range 1000 {
		fmt.Fprintf(tail, "\x1b[0mline %d\r\n\r\n", n)
	}
	lines := tail.Lines()
	if len(lines) != keptLines || !strings.HasSuffix(lines[keptLines-1], "line 999") {
		t.Errorf("got %q", lines)
	}
	if strings.ContainsAny(strings.Join(lines, ""), "\r\n\x1b") {
		t.Errorf("control characters in %q", lines)
	}
	if n := strings.Count(all.String(), "line"); n != 1000 {
		t.Errorf("passed %d lines on", n)
	}
}
