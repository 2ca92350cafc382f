package exchanges

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/linux/netns"
	"tare/internal/linux/virtnet"
	"tare/internal/testing/needs"
)

// TapName is the tap of sessions with one.
const TapName = "port2"

// Player is a program to play with.
type Player struct {
	// Command starts the program with its API at the socket api.sock in its working
	// directory.
	Command func(arguments ...string) *exec.Cmd
	// NeedsGuest skips a session whose guest the program cannot run here.
	NeedsGuest func(t testing.TB)
}

// socket is the API's, in the program's directory.
const socket = "api.sock"

// Play asks a program what the recording asks, each session in a process of its
// own, and returns the recording with its answers. complete is false if a session
// was skipped.
func (r *Recording) Play(t *testing.T, p Player) (played *Recording, complete bool) {
	t.Helper()
	played, complete = &Recording{Program: r.Program, Version: r.Version}, true
	dirs, outer := map[string]string{}, t
	for _, s := range r.Sessions {
		with := *s
		with.Exchanges = nil
		played.Sessions = append(played.Sessions, &with)
		if s.Continues != "" && dirs[s.Continues] == "" {
			complete = false // skipped with the one that it continues
			continue
		}
		ok := t.Run(s.Name, func(t *testing.T) {
			dir := dirs[s.Continues]
			if s.Continues == "" {
				dir = directory(t, outer)
			}
			with.Exchanges = s.play(t, p, dir)
			dirs[s.Name] = dir
		})
		complete = complete && ok && with.Exchanges != nil
	}
	return played, complete
}

// directory makes a directory with what the requests name. Its path is short, as
// that of a socket has to be. It is removed at the end of the outer test, since later
// sessions may continue there.
func directory(t, outer *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tare-vmm-")
	if err != nil {
		t.Fatal(err)
	}
	outer.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			outer.Error(err)
		}
	})
	const disk = 1 << 20
	for name, content := range map[string][]byte{"kernel": kernel(), "initramfs": make([]byte, 4096), "root": make([]byte, disk),
		"data": make([]byte, disk), "log": nil, "metrics": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "saved"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// play asks a process what a session asks.
func (s *Session) play(t *testing.T, p Player, dir string) (answered []Exchange) {
	if s.Guest {
		p.NeedsGuest(t)
	}
	var output bytes.Buffer
	cmd := p.Command(s.Arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &output, &output
	cmd.Env = append(cmd.Environ(), "RUST_BACKTRACE=0") // in answers too
	start := cmd.Start
	if s.Tap {
		start = within(t, cmd)
	}
	exited := run(t, cmd, start)
	defer func() {
		_ = cmd.Process.Kill()
		<-exited
		for _, path := range []string{socket, "v.sock"} {
			_ = os.Remove(filepath.Join(dir, path))
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("its output:\n%s\nits log:\n%s", output.Bytes(), log)
		}
	}()
	client := connect(t, filepath.Join(dir, socket), exited)
	defer client.CloseIdleConnections()
	for _, e := range s.Exchanges {
		e = ask(t, client, e, exited)
		if bytes.Contains(e.Answer, []byte("GetNestedState")) {
			t.Skipf("needs a KVM that has the state of nested virtualization: %s was answered with %s", e.Request, e.Answer)
		}
		answered = append(answered, e)
	}
	return answered
}

// within starts a command where there is a tap.
func within(t *testing.T, cmd *exec.Cmd) func() error {
	t.Helper()
	needs.Root(t)
	bridge, err := virtnet.NewBridge("exchanges", "a bridge of a test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bridge.Close(context.Background()) })
	port, err := bridge.Tap()
	if err == nil {
		err = port.Lend(0)
	}
	if err != nil || port.Device != TapName {
		t.Fatalf("the tap %v: %v", port, err)
	}
	t.Cleanup(func() { _ = port.Close() })
	return func() error {
		space, err := os.Open(port.Space())
		if err != nil {
			return err
		}
		defer space.Close()
		return netns.Within(space, cmd.Start)
	}
}

// run starts a process that dies with this one.
func run(t *testing.T, cmd *exec.Cmd, start func() error) (exited chan struct{}) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	exited = make(chan struct{})
	go func() {
		runtime.LockOSThread() // its exit would send the parent-death signal
		defer runtime.UnlockOSThread()
		err := start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return exited
}

// connect returns a client of an API when that answers.
func connect(t *testing.T, path string, exited chan struct{}) *http.Client {
	t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	const interval = time.Millisecond
	for {
		conn, err := dial(t.Context(), "", "")
		if err == nil {
			conn.Close()
			return &http.Client{Transport: &http.Transport{DialContext: dial}}
		}
		select {
		case <-exited:
			t.Fatalf("the program exited before its API answered: %v", err)
		case <-t.Context().Done():
			t.Fatal(err)
		case <-time.After(interval):
		}
	}
}

// patience is how long an answer may take. A program that exits answers nothing.
const patience = 2 * time.Minute

// ask sends a request.
func ask(t *testing.T, client *http.Client, e Exchange, exited chan struct{}) Exchange {
	t.Helper()
	e.Status, e.Answer = 0, nil
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	method, path, _ := strings.Cut(e.Request, " ")
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(e.Body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		select {
		case <-exited:
			return e
		case <-ctx.Done():
			t.Fatalf("%s %s: %v", e.Request, e.Body, err)
		}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", e.Request, err)
	}
	e.Status = response.StatusCode
	if len(text) > 0 {
		var answer any
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatalf("%s was answered with %q", e.Request, text)
		}
		forget(answer)
		if e.Answer, err = json.Marshal(answer); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// Compare fails for every answer that differs from the recorded one; see Difference.
func Compare(t *testing.T, want, got *Recording, part bool) {
	t.Helper()
	for n, s := range got.Sessions {
		for i, e := range s.Exchanges {
			if d := Difference(want, want.Sessions[n].Exchanges[i], got, e, part); d != "" {
				t.Errorf("%s: %s", s.Name, d)
			}
		}
	}
}

// Renew is the variable that makes a test write what the real program answered.
const Renew = "UPDATE_GOLDEN"
