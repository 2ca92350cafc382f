package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/testing/freeport"
	"tare/internal/testing/gobuild"
	"tare/internal/testing/needs"
)

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// small is how much memory the agent may take. The race detector takes several
// bytes for each of the program's.
func small() int64 {
	if gobuild.Raced() {
		return 80 << 20
	}
	return 20 << 20
}

// resident is a process's memory as the kernel counts it.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			return kib << 10
		}
	}
	t.Fatal("no VmRSS in /proc")
	return 0
}

// until asks again until it is so; it fails the test only when it never is.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("it never came about: %s", what)
		}
	}
}

// gone waits until a process is dead and buried.
func gone(t *testing.T, pid string) {
	t.Helper()
	if _, err := strconv.Atoi(pid); err != nil {
		t.Fatalf("%q is no process number", pid)
	}
	until(t, "process "+pid+" is gone", func() bool {
		_, err := os.Stat("/proc/" + pid)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// family starts a command with a child and an orphan that left its group, and
// returns their process numbers.
func family(t *testing.T, a running) (pids []string) {
	t.Helper()
	var out lines
	three := make(chan struct{})
	cmd := shell("sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & wait")
	cmd.Stdout = writer(func(b []byte) {
		out.Write(b)
		if strings.Count(out.String(), "\n") == 2 {
			close(three)
		}
	})
	p, err := a.Start(soon(t), cmd)
	if err != nil {
		t.Fatal(err)
	}
	<-three
	return append(strings.Fields(out.String()), strconv.Itoa(p.PID()))
}

func TestClosingTheStreamEndsAllCommands(t *testing.T) {
	a := start(t)
	pids := family(t, a)
	a.Close()
	<-a.ended
	for _, pid := range pids {
		gone(t, pid)
	}
}

func TestShutdownEndsAllCommands(t *testing.T) {
	a := start(t)
	pids := family(t, a)
	if err := a.Shutdown(soon(t)); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("process %s is still there when Shutdown has returned", pid)
		}
	}
	<-a.Done()
	<-a.ended
	if err := a.Err(); !errors.Is(err, agent.ErrGone) || !strings.Contains(err.Error(), "shut down") {
		t.Errorf("afterwards the agent is gone because of %v", err)
	}
}

func TestSIGTERMEndsAllCommands(t *testing.T) {
	a := start(t)
	pids := family(t, a)
	p, err := a.Start(soon(t), agent.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	a.process.Signal(syscall.SIGTERM)
	<-a.ended
	for _, pid := range pids {
		gone(t, pid)
	}
	// That a command was killed is no reason: the agent was told to stop.
	if _, err := p.Wait(soon(t)); !errors.Is(err, agent.ErrGone) {
		t.Errorf("waiting for a command: %v", err)
	}
}

func TestACommandDiesWithAnAgentThatIsKilled(t *testing.T) {
	a := start(t)
	p, err := a.Start(soon(t), agent.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	a.process.Kill()
	if _, err := p.Wait(soon(t)); !errors.Is(err, agent.ErrGone) || !strings.Contains(err.Error(), "sleep") {
		t.Errorf("waiting for it: %v", err)
	}
	gone(t, strconv.Itoa(p.PID()))
	if _, err := a.Run(soon(t), shell("true")); !errors.Is(err, agent.ErrGone) {
		t.Errorf("a command after the agent's death: %v", err)
	}
	if _, err := a.Clock(soon(t)); !errors.Is(err, agent.ErrGone) {
		t.Errorf("a clock after the agent's death: %v", err)
	}
}

func TestOtherWritesToStdoutDoNotReachTheStream(t *testing.T) {
	a := start(t)
	// What a command finds as the agent's standard output is not the stream.
	cmd := agent.Command{Argv: []string{"sh", "-c", fmt.Sprintf("echo stray > /proc/%d/fd/1", a.process.Pid)}}
	if exit, err := a.Run(soon(t), cmd); err != nil || !exit.OK() {
		t.Fatal(exit, err)
	}
	if exit, err := a.Run(soon(t), shell("exit 4")); err != nil || exit.Code != 4 {
		t.Error(exit, err)
	}
	until(t, "the print is on standard error", func() bool { return a.stderr.String() == "stray\n" })
}

func TestFilesMakeTheRoundTrip(t *testing.T) {
	a, directory := start(t), t.TempDir()
	for _, size := range []int{0, 1, 32 << 10, 3<<20 + 1} {
		path := filepath.Join(directory, "new", "folders", strconv.Itoa(size))
		data := bytes.Repeat([]byte{0xfe, 0, '\n'}, size/3+1)[:size]
		if err := a.WriteFile(soon(t), path, 0o750, data); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o750 {
			t.Errorf("%v, %v", info, err)
		}
		got, err := a.ReadFile(soon(t), path, 0)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back as %d, %v", size, len(got), err)
		}
		part, err := a.ReadFile(soon(t), path, 5)
		if err != nil || !bytes.Equal(part, data[:min(5, size)]) {
			t.Errorf("the first bytes came back as %q, %v", part, err)
		}
	}
	if stat, err := a.ReadFile(soon(t), "/proc/self/stat", 0); err != nil || !strings.Contains(string(stat), "tare-agent") {
		t.Errorf("%q, %v", stat, err)
	}
}

// A secret file is in memory, for its owner alone, and ends with the agent. Variables of
// a probe reach its command.
func TestAFileInMemoryIsForItsOwnerAndEndsWithTheAgent(t *testing.T) {
	for _, mode := range [][]string{{"stdio"}, {"native", "--root", "/"}} {
		if mode[0] == "native" {
			needs.Root(t)
		}
		a := start(t, mode...)
		path, err := a.WriteMemory(soon(t), "KEY", "", []byte("value"))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd := shell("stat -c '%a %u' " + path + " && stat -f -c %T " + path + " && stat -c %a $(dirname " + path + ") && cat " + path)
		cmd.Stdout = &out
		if exit, err := a.Run(soon(t), cmd); err != nil || !exit.OK() || out.String() != fmt.Sprintf("400 %d\ntmpfs\n711\nvalue", os.Getuid()) {
			t.Errorf("%v: %+v, %v, %q", mode, exit, err, out.String())
		}
		if _, err := a.Await(soon(t), agent.Probe{Exec: []string{"sh", "-c", `test "$A" = b`}, Timeout: time.Second}, "A=b"); err != nil {
			t.Error(err)
		}
		for name, user := range map[string]string{"../escape": "", "..": "", "": "", "KEY2": "nobody of this name"} {
			if path, err := a.WriteMemory(soon(t), name, user, []byte("x")); err == nil {
				t.Errorf("%q of %q was written to %s", name, user, path)
			}
		}
		linked := filepath.Join(t.TempDir(), "run", "secrets", "key")
		if mode[0] == "stdio" {
			for range 2 {
				directory := filepath.Join(filepath.Dir(linked), "of", "a service")
				if err := a.Put(soon(t), wire.Write{Path: directory, Directory: true}, nil); err != nil {
					t.Fatal(err)
				}
				if info, err := os.Stat(directory); err != nil || !info.IsDir() {
					t.Error(err)
				}
			}
			for range 2 { // the second one takes the place of the first
				if err := a.Put(soon(t), wire.Write{Path: "KEY3", Memory: true, Mode: 0o444, Link: linked}, []byte("linked")); err != nil {
					t.Fatal(err)
				}
			}
			info, err := os.Stat(linked)
			text, readErr := os.ReadFile(linked)
			if to, linkErr := os.Readlink(linked); err != nil || readErr != nil || linkErr != nil || filepath.Dir(to) != filepath.Dir(path) || info.Mode() != 0o444 || string(text) != "linked" {
				t.Errorf("%s: %v, %v, %v, %q", to, err, readErr, linkErr, text)
			}
		}
		if err := a.Shutdown(soon(t)); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Dir(path) + "*"); len(left) > 0 {
			t.Errorf("%v: %q is left", mode, left)
		}
	}
}

func TestFileErrorsNameTheFile(t *testing.T) {
	a := start(t)
	_, err := a.ReadFile(soon(t), "/no/such/file", 0)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/no/such/file") {
		t.Error(err)
	}
	if _, err := a.ReadFile(soon(t), "/etc", 0); err == nil || !strings.Contains(err.Error(), "/etc") {
		t.Error(err)
	}
	err = a.WriteFile(soon(t), "/proc/nothing/new", 0, make([]byte, 5<<20))
	if err == nil || !strings.Contains(err.Error(), "/proc/nothing") {
		t.Error(err)
	}
	if err := a.WriteFile(soon(t), "/dev/full", 0, make([]byte, 5<<20)); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

func TestClocksOfOneMachineAgree(t *testing.T) {
	a := start(t)
	before, err := a.Clock(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(soon(t), shell("sleep 0.2")); err != nil {
		t.Fatal(err)
	}
	after, err := a.Clock(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	ratio, uncertainty := agent.ClockDrift(before, after)
	if off := ratio - 1; off > uncertainty+.001 || off < -uncertainty-.001 {
		t.Errorf("ratio %f, uncertainty %f", ratio, uncertainty)
	}
}

func TestProbesSucceedOnceTheServerAnswers(t *testing.T) {
	a, directory := start(t), t.TempDir()
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	socket := filepath.Join(directory, "s")
	later, done := filepath.Join(directory, "later"), make(chan struct{})
	go func() { // the server gets ready while the probe asks
		defer close(done)
		if _, err := a.Run(soon(t), shell("sleep 0.05; touch "+later)); err != nil {
			t.Error(err)
		}
	}()
	for _, p := range []agent.Probe{{Exec: []string{"test", "-e", later}, Timeout: time.Minute}} {
		if took, err := a.Await(soon(t), p); err != nil || took <= 0 {
			t.Errorf("%+v: %s, %v", p, took, err)
		}
	}
	<-done
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go http.Serve(l, server.Config.Handler)
	status = http.StatusNotFound // below 500: it answers
	for _, p := range []agent.Probe{
		{TCP: server.Listener.Addr().String()}, {HTTP: server.URL + "/path?q=1"}, {Unix: socket}, {HTTP: "http://any/path?q=1", Unix: socket},
	} {
		if took, err := a.Await(soon(t), p); err != nil || took <= 0 {
			t.Errorf("%+v: %s, %v", p, took, err)
		}
	}
}

func TestAFailedProbeReturnsItsLastFailure(t *testing.T) {
	a := start(t)
	unavailable := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) }))
	defer unavailable.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	nobody := fmt.Sprintf("127.0.0.1:%d", freeport.New(t))
	const short = 2 * time.Second // long enough for one attempt on a busy machine
	var all sync.WaitGroup
	for _, c := range []struct {
		probe agent.Probe
		words []string
	}{
		{agent.Probe{TCP: nobody, Timeout: short}, []string{nobody, "2s", "connection refused"}},
		{agent.Probe{Unix: "/no/socket", Timeout: short}, []string{"/no/socket", "no such file"}},
		{agent.Probe{HTTP: unavailable.URL, Timeout: short}, []string{unavailable.URL, "503"}},
		{agent.Probe{HTTP: "http://" + silent.Addr().String(), Timeout: short}, []string{"no status line"}},
		{agent.Probe{Exec: []string{"sh", "-c", "echo not yet; exit 9"}, Timeout: short}, []string{"exit status 9", "not yet"}},
		{agent.Probe{Exec: []string{"sleep", "1000"}, Timeout: short}, []string{"sleep 1000", "SIGKILL"}},
		{agent.Probe{Exec: []string{"no-such-command"}, Timeout: short}, []string{"no-such-command", "PATH"}},
		{agent.Probe{HTTP: "https://localhost"}, []string{"plain http"}},
		{agent.Probe{}, []string{"exactly one"}},
		{agent.Probe{TCP: "a:1", Unix: "b"}, []string{"exactly one"}},
	} {
		all.Go(func() {
			_, err := a.Await(soon(t), c.probe)
			for _, w := range c.words {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("%+v: %v does not say %q", c.probe, err, w)
				}
			}
		})
	}
	all.Wait()
}

func TestAProbeCanBeTriedOnce(t *testing.T) {
	a := start(t)
	p := agent.Probe{TCP: fmt.Sprintf("127.0.0.1:%d", freeport.New(t))}
	l, err := net.Listen("tcp", p.TCP)
	if err != nil {
		t.Fatal(err)
	}
	if yes, err := a.ProbeOnce(soon(t), p); !yes || err != nil {
		t.Errorf("somebody listens: %v, %v", yes, err)
	}
	l.Close()
	if yes, err := a.ProbeOnce(soon(t), p); yes || err != nil {
		t.Errorf("nobody does: %v, %v", yes, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if yes, err := a.ProbeOnce(gone, p); yes || !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for it: %v, %v", yes, err)
	}
}

func TestACancelledProbeReturnsItsLastFailure(t *testing.T) {
	a := start(t)
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	attempts := filepath.Join(t.TempDir(), "attempts")
	if err := syscall.Mkfifo(attempts, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 2 { // the second attempt comes after the first has failed
			_, _ = os.ReadFile(attempts)
		}
		cancel()
	}()
	_, err := a.Await(ctx, agent.Probe{Exec: []string{"sh", "-c", "echo not yet; echo x >" + attempts + "; exit 9"}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not yet") {
		t.Error(err)
	}
}

func TestTheAgentIsSmall(t *testing.T) {
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	a := start(t)
	for range 50 {
		if _, err := a.Run(soon(t), shell("true")); err != nil {
			t.Fatal(err)
		}
	}
	rss := resident(t, a.process.Pid)
	t.Logf("the agent's file has %d bytes, resident are %d", info.Size(), rss)
	if info.Size() > 10<<20 || rss > small() {
		t.Errorf("the agent's file has %d bytes, resident are %d", info.Size(), rss)
	}
}
