package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

var run = testenv.Run

func commands(t *testing.T, s *scene) {
	a := s.shared.Agent()
	sh := func(line string) []string { return []string{"/bin/sh", "-c", line} }
	for _, c := range []struct {
		what   string
		cmd    agent.Command
		out    string
		err    string
		code   int
		signal string
	}{
		{what: "both outputs", cmd: agent.Command{Argv: sh("echo out; echo err >&2")}, out: "out\n", err: "err\n"},
		{what: "an exit status", cmd: agent.Command{Argv: sh("exit 3")}, code: 3},
		{what: "the last exit status", cmd: agent.Command{Argv: sh("exit 255")}, code: 255},
		{what: "an end by a signal", cmd: agent.Command{Argv: sh("kill -9 $$")}, code: -1, signal: "SIGKILL"},
		{what: "standard input", cmd: agent.Command{Argv: []string{"cat"}, Stdin: strings.NewReader("in\n")}, out: "in\n"},
		{what: "no standard input", cmd: agent.Command{Argv: []string{"cat"}}},
		{what: "environment and directory", cmd: agent.Command{Argv: sh("echo $A; pwd"), Env: []string{"A=b c"}, Dir: "/usr"}, out: "b c\n/usr\n"},
		{what: "a user", cmd: agent.Command{Argv: []string{"id", "-un"}, User: "nobody"}, out: "nobody\n"},
		{what: "root", cmd: agent.Command{Argv: []string{"id", "-u"}}, out: "0\n"},
	} {
		var out, errs bytes.Buffer
		c.cmd.Stdout, c.cmd.Stderr = &out, &errs
		exit, err := a.Run(t.Context(), c.cmd)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		} else if exit.Code != c.code || exit.Signal != c.signal || out.String() != c.out || errs.String() != c.err {
			t.Errorf("%s: %+v with %q and %q, want status %d, signal %q, %q and %q", c.what, exit, out.String(), errs.String(), c.code, c.signal, c.out, c.err)
		}
	}
	if _, err := a.Run(t.Context(), agent.Command{Argv: []string{"no-such-command"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a command that is not there: %v", err)
	}
	exit, err := a.Run(t.Context(), agent.Command{Argv: []string{"sleep", "1000"}, Timeout: 100 * time.Millisecond})
	if err != nil || !exit.TimedOut {
		t.Errorf("a time limit: %+v, %v", exit, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := a.Run(ctx, agent.Command{Argv: []string{"sleep", "1000"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that ends: %v", err)
	}
	environ := strings.Split(run(t, s.shared, "env"), "\n")
	for _, line := range s.image.Env {
		if !slices.Contains(environ, line) {
			t.Errorf("the image's %s is not in the environment, %q", line, environ)
		}
	}
	if got := run(t, s.shared, "ls -A /data | grep -vx lost+found; touch /data/by-root; rm /data/by-root; [ -w /tmp ] && [ -c /dev/null ] && [ -r /proc/self/stat ]"); got != "" {
		t.Errorf("/data of a fresh instance holds %q", got)
	}
	if exit, err := a.Run(t.Context(), agent.Command{Argv: []string{"touch", "/data/by-nobody"}, User: "nobody"}); err != nil || !exit.OK() {
		t.Errorf("a server's own user cannot write to /data: %+v, %v", exit, err)
	}
}

func outputComesAsItIsPrinted(t *testing.T, s *scene) {
	heard, out := io.Pipe()
	p, err := s.shared.Agent().Start(t.Context(), agent.Command{
		Argv:   []string{"/bin/sh", "-c", "printf first; until [ -e /data/go ]; do sleep 0.02; done; printf second"},
		Stdout: out,
	})
	if err != nil {
		t.Fatal(err)
	}
	word := make([]byte, len("first"))
	if _, err := io.ReadFull(heard, word); err != nil || string(word) != "first" {
		t.Fatalf("%q, %v", word, err)
	}
	// Only now may it go on, so what was heard was heard while it ran.
	if err := s.shared.Agent().WriteFile(t.Context(), "/data/go", 0, nil); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.Wait(context.Background())
		out.Close()
	}()
	if rest, err := io.ReadAll(heard); err != nil || string(rest) != "second" {
		t.Errorf("%q, %v", rest, err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
}

func signalsArrive(t *testing.T, s *scene) {
	heard, out := io.Pipe()
	p, err := s.shared.Agent().Start(t.Context(), agent.Command{
		Argv:   []string{"/bin/sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"},
		Stdout: out,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(heard, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(t.Context(), syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 7 {
		t.Errorf("its trap did not end it: %+v, %v", exit, err)
	}
}

func filesArriveWhole(t *testing.T, s *scene) {
	a := s.shared.Agent()
	want := make([]byte, 1<<20+7)
	rand.NewChaCha8([32]byte{}).Read(want)
	const path = "/data/made/on the way/file"
	if err := a.WriteFile(t.Context(), path, 0o640, want); err != nil {
		t.Fatal(err)
	}
	got, err := a.ReadFile(t.Context(), path, 0)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back as %d others (%v)", len(want), len(got), err)
	}
	if mode := run(t, s.shared, "stat -c %a '"+path+"'"); mode != "640" {
		t.Errorf("its mode is %s", mode)
	}
	if _, err := a.ReadFile(t.Context(), "/nowhere", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := a.WriteFile(t.Context(), "/proc/version", 0, []byte("x")); err == nil {
		t.Error("a file that cannot be written was written")
	}
}

func oddNamesArriveAsTheyAre(t *testing.T, s *scene) {
	odd := []string{"two words", "new\nline", `"quoted" 'twice'`, "$HOME `id` \\", "-n", "ünïcödé 試", "\xff\xfe", "*", "tab\tand\r", strings.Repeat("long", 60)}
	for _, name := range odd {
		path := "/data/odd/" + name
		if err := s.shared.Agent().WriteFile(t.Context(), path, 0, []byte(name)); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		var output bytes.Buffer
		exit, err := s.shared.Agent().Run(t.Context(), agent.Command{Argv: []string{"cat", "--", name}, Dir: "/data/odd", Stdout: &output})
		if err != nil || !exit.OK() || output.String() != name {
			t.Errorf("%q came back as %q (%+v, %v)", name, output.String(), exit, err)
		}
	}
}

// counted takes the sum of what is written.
type counted struct {
	hash.Hash
	bytes int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return c.Hash.Write(p)
}

func hugeOutputArrivesWhole(t *testing.T, s *scene) {
	size := int64(50_000_000)
	if s.emulated() {
		size = 8_000_000
	}
	got, want := &counted{Hash: sha256.New()}, &counted{Hash: sha256.New()}
	line := []byte("what a workload prints, over and over\n")
	for want.bytes < size {
		want.Write(line[:min(int64(len(line)), size-want.bytes)])
	}
	exit, err := s.shared.Agent().Run(t.Context(), agent.Command{
		Argv:   []string{"/bin/sh", "-c", `yes "$1" | head -c "$2"`, "sh", strings.TrimSpace(string(line)), strconv.FormatInt(size, 10)},
		Stdout: got,
	})
	if err != nil || !exit.OK() {
		t.Fatalf("%+v, %v", exit, err)
	}
	if got.bytes != size || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("%d bytes arrived of %d, or they are others", got.bytes, size)
	}
}

func silenceIsNoError(t *testing.T, s *scene) {
	for line, code := range map[string]int{
		"true":                                 0,
		"exec <&- >&- 2>&-; sleep 0.1; exit 5": 5, // it closes its outputs before its end
	} {
		var out, errs bytes.Buffer
		exit, err := s.shared.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", line}, Stdout: &out, Stderr: &errs})
		if err != nil || exit.Code != code || out.Len()+errs.Len() > 0 {
			t.Errorf("%s: %+v, %v, %q, %q", line, exit, err, out.String(), errs.String())
		}
	}
}

func theClockRunsAsTheHosts(t *testing.T, s *scene) {
	// What a trial is warned of.
	const tolerance = 0.005
	before, err := s.shared.Agent().Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.shared, "sleep 1")
	after, err := s.shared.Agent().Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ratio, uncertainty := agent.ClockDrift(before, after)
	if off := math.Abs(ratio - 1); off > tolerance && off > uncertainty {
		t.Errorf("the clock inside ran at %.4f of the host's (uncertain by %.4f)", ratio, uncertainty)
	}
}

func theCostIsSeenFromOutside(t *testing.T, s *scene) {
	sampler := environment.Meter(s.shared, usage.Options{})
	turns := 300_000
	if s.emulated() {
		turns = 30_000
	}
	exit, err := s.shared.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$((i+1)); done", turns)}})
	used := sampler.Stop()
	if err != nil || !exit.OK() {
		t.Fatalf("%+v, %v", exit, err)
	}
	inside, outside := (exit.User + exit.System).Seconds(), used.CPU()
	share := 0.5
	if s.emulated() || strings.Contains(s.name, "gvisor") || strings.Contains(s.options, "runsc") {
		share = 0.1 // a kernel of its own takes for its own what the host takes away from it
	}
	if outside.Missing != "" || outside.Value <= share*inside {
		t.Errorf("a command that took %.3f s of processor time by its own account took %+v s from outside", inside, outside)
	}
	if used.MemoryPeak.Missing != "" || used.MemoryPeak.Value <= 0 {
		t.Errorf("memory from outside: %+v", used.MemoryPeak)
	}
}
