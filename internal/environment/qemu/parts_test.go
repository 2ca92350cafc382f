package qemu

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/agent"
	"tare/internal/environment"
)

func TestATemplateWritesTheFileThatItRead(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 1<<20).Draw(t, "size")
		want := make([]byte, size)
		for range rapid.IntRange(0, 5).Draw(t, "pieces") {
			at := rapid.IntRange(0, size-1).Draw(t, "at")
			copy(want[at:], rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "piece"))
		}
		from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
		defer os.Remove(to)
		if err := os.WriteFile(from, want, 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := readTemplate(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := read.write(to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes came back as %d others (%v)", len(want), len(got), err)
		}
	})
}

func TestATemplateDoesNotOverwrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&template{size: 1}).write(file); err == nil {
		t.Error("it overwrote a file")
	}
}

func TestTheTailKeepsTheLastLinesAndPassesAllOn(t *testing.T) {
	var all bytes.Buffer
	tail := &tail{to: &all}
	for n := range 1000 {
		fmt.Fprintf(tail, "\x1b[0mline %d\r\n\r\n", n)
	}
	lines := tail.lines()
	if len(lines) != tailLines || !strings.HasSuffix(lines[tailLines-1], "line 999") {
		t.Errorf("got %q", lines)
	}
	if strings.ContainsAny(strings.Join(lines, ""), "\r\n\x1b") {
		t.Errorf("control characters in %q", lines)
	}
	if n := strings.Count(all.String(), "line"); n != 1000 {
		t.Errorf("passed %d lines on", n)
	}
}

func TestThePhasesAddUpToTheStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "ns")) })
		total := duration.Draw(t, "total")
		sum := time.Duration(0)
		for _, p := range phases(total, agent.Hello{Uptime: duration.Draw(t, "uptime"), AgentTime: duration.Draw(t, "agent")}) {
			if p.Duration < 0 {
				t.Fatalf("phase %s takes %v", p.Name, p.Duration)
			}
			sum += p.Duration
		}
		if sum != total {
			t.Fatalf("%v of %v", sum, total)
		}
	})
}

func TestTheKernelsPhaseEndsWhereTheAgentBegins(t *testing.T) {
	got := phases(3*time.Second, agent.Hello{Uptime: 2 * time.Second, AgentTime: 500 * time.Millisecond})
	want := []environment.Phase{{Name: "engine", Duration: time.Second}, {Name: "kernel", Duration: 1500 * time.Millisecond}, {Name: "agent", Duration: 500 * time.Millisecond}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v", got)
	}
}

func TestTheVersionIsReadFromWhatQEMUPrints(t *testing.T) {
	for said, want := range map[string]release{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright": {7, "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"},
		"QEMU emulator version 10.0.2\nCopyright (c) 2003-2025":                     {10, "10.0.2"},
	} {
		if got, err := parseVersion(said); err != nil || got != want {
			t.Errorf("%q: %+v, %v", said, got, err)
		}
	}
	if _, err := parseVersion("command not understood"); err == nil {
		t.Error("a version was found where there is none")
	}
}

func TestTheTimeStampCounterHasAProcessorsSpeed(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("needs amd64: others have no such counter")
	}
	if khz := tscKHz(); khz < 500_000 || khz > 10_000_000 {
		t.Errorf("%d kHz", khz)
	}
}

func TestRequirementsTellEmulationFromVirtualization(t *testing.T) {
	o := defaults()
	o.Accel = "tcg"
	if f := o.checkKVM(t.Context()); f.State != environment.Caveat || !strings.Contains(f.Reason, "tcg") {
		t.Errorf("tcg: %+v", f)
	}
	auto, insist := defaults(), defaults()
	insist.Accel = "kvm"
	a, k := auto.checkKVM(t.Context()), insist.checkKVM(t.Context())
	t.Logf("auto: %+v; kvm: %+v", a, k)
	switch {
	case a.State == environment.Usable && k.State == environment.Usable:
	case a.State == environment.Caveat && k.State == environment.Missing && strings.Contains(a.Reason, "tcg") && k.Mend != "":
	default:
		t.Errorf("auto: %+v; kvm: %+v", a, k)
	}
}

func TestEveryRequirementSaysWhatItIs(t *testing.T) {
	state, findings := environment.Check(t.Context(), "qemu", defaults())
	t.Log(state)
	for _, f := range findings {
		t.Logf("%+v", f)
		if f.What == "" || f.State != environment.Usable && f.Reason == "" {
			t.Errorf("%+v", f)
		}
	}
}
