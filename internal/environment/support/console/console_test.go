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

func TestThePanicOfAKernelIsFoundAmongItsLastLines(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"[    0.1] Run /init as init process\nlast words":                                                                   "",
		"[    3.3] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n[    3.4] CPU: 0 PID: 1": "VFS: Unable to mount root fs on unknown-block(0,0)",
		"[    0.0] RIP: 0010:fpu__init_system_xstate+0x4c5/0x9b0\n[    0.0] RSP: 0000\n" +
			"[    0.0] Kernel panic - not syncing: Fatal exception\n[    0.0] RIP: 0010:later+0x1/0x2": "Fatal exception, in fpu__init_system_xstate",
		"[    1.0] RIP: 0033:0x7f12\n[    1.0] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100": "Attempted to kill init! exitcode=0x00000100",
		"Kernel panic - not syncing: " + strings.Repeat("x", 4000):                                                      strings.Repeat("x", 200),
	} {
		if got := Panic(strings.Split(text, "\n")); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
