package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/agent"
	"tare/internal/environment"
	_ "tare/internal/environment/native"
	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/procfile"
	"tare/internal/testing/localhost"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

func TestMain(m *testing.M) {
	localhost.ServeIfAsked()
	goleak.VerifyTestMain(m)
}

// dial opens a session with this machine as the host, in a home of its own.
func dial(t *testing.T, h host.Host) (*remote.Session, string) {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	home := t.TempDir()
	s, err := remote.Dial(t.Context(), h, remote.Options{Home: home, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, home
}

// prepared is the native environment there.
func prepared(t *testing.T, s *remote.Session) environment.Environment {
	t.Helper()
	e, err := s.Environment(t.Context(), "native", json.RawMessage(`{"rootfs": "image"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(t.Context(), tiny(t), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	return e
}

// tiny is the image of all instances here: every home there is sent it. The programs
// beside cat are those that a session takes where it leads.
func tiny(t *testing.T) *image.Image {
	t.Helper()
	return testenv.Tiny(t, "cat", "chmod", "find", "hostname", "id", "ls", "mkdir", "mv", "sha256sum", "uname")
}

// here is a request of this side.
func here(t *testing.T, name string) environment.Request {
	t.Helper()
	return environment.Request{Name: name, Owner: testenv.Owner(t, t.TempDir()), Image: tiny(t), Console: io.Discard}
}

func nothingLeft(t *testing.T, home, id string) {
	t.Helper()
	if left := testenv.Left(t.Context(), home, id); len(left) > 0 {
		t.Errorf("left there: %q", left)
	}
}

func TestAnInstanceThereIsAnInstance(t *testing.T) {
	s, home := dial(t, localhost.Host{})
	if state, findings := s.Check(t.Context(), "native", nil); state == environment.Missing {
		t.Skipf("needs the native environment: %+v", findings)
	}
	e := prepared(t, s)
	i, err := e.Start(t.Context(), here(t, "there"))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	id := testenv.OnlyOwner(t, home)
	var out bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"cat", "/proc/version", "-"}, Stdin: strings.NewReader("said\n"), Stdout: &out})
	if err != nil || !exit.OK() || !strings.HasSuffix(out.String(), "\nsaid\n") {
		t.Errorf("%+v, %v: %q", exit, err, out.String())
	}
	t.Log(i.Phases(), i.Address(), i.Paths(), i.Notes(), e.Versions(t.Context()))
	meter := environment.Meter(i, usage.Options{})
	if exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"}}); err != nil || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
	if cpu := meter.Stop().CPU(); cpu.Missing != "" || cpu.Value <= 0 {
		t.Errorf("its cost is %+v", cpu)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"true"}}); !errors.Is(err, agent.ErrGone) {
		t.Errorf("after its stop: %v", err)
	}
	nothingLeft(t, home, id)
}

// The tare there is stopped, and the host is not.
func TestALinkWithoutDataSaysWhetherTheHostStandsStillToo(t *testing.T) {
	needs.Root(t)
	home := t.TempDir()
	s, err := remote.Dial(t.Context(), localhost.Host{}, remote.Options{Home: home, Silence: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	served := 0
	for _, pid := range procfile.PIDs() {
		if words := procfile.CommandLine(pid); slices.Contains(words, remote.Command) && slices.Contains(words, home) {
			served = pid
		}
	}
	if served == 0 {
		t.Fatal("tare there is not found")
	}
	if err := syscall.Kill(served, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "no data for 2s, but a command there still runs") {
		t.Errorf("it is told as %v", err)
	}
	if err := syscall.Kill(served, syscall.SIGCONT); err != nil { // so that it ends
		t.Error(err)
	}
	s.Close()
}

func TestTheEndOfASessionEndsWhatItStarted(t *testing.T) {
	s, home := dial(t, localhost.Host{})
	e := prepared(t, s)
	i, err := e.Start(t.Context(), here(t, "forgotten"))
	if err != nil {
		t.Fatal(err)
	}
	id := testenv.OnlyOwner(t, home)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, home, id)
	if alive, err := cleanup.Alive(home); err != nil || len(alive) > 0 {
		t.Errorf("owners there: %v, %v", alive, err)
	}
	<-i.Agent().Done()
	if err := i.Agent().Err(); err == nil || !strings.Contains(err.Error(), "this machine") {
		t.Errorf("the agent's end is told as %v", err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// A kind that finds no instances says so.
func TestOnlySomeKindsFindInstances(t *testing.T) {
	s, _ := dial(t, localhost.Host{})
	if _, err := s.Find(t.Context(), "native", nil, "one"); err == nil || !strings.Contains(err.Error(), "kind native finds no instances that others started") {
		t.Error(err)
	}
}

// An instance is a host, so a session leads into it.
func TestASessionRunsInsideAnInstance(t *testing.T) {
	outer, _ := dial(t, localhost.Host{})
	i, err := prepared(t, outer).Start(t.Context(), here(t, "outer"))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	h := host.Instance("the outer instance", i.Address(), i.Agent())
	inner, err := remote.Dial(t.Context(), h, remote.Options{Home: "/var/lib/tare", Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	// The outer instance has no capability to mount, nor a cgroup hierarchy.
	state, findings := inner.Check(t.Context(), "native", nil)
	if last := findings[len(findings)-1]; state != environment.Missing || !strings.Contains(last.What, "root, with the capability to mount on the outer instance") {
		t.Errorf("%s: %+v", state, findings)
	}
	if _, err := inner.Environment(t.Context(), "none", nil); err == nil || !strings.Contains(err.Error(), "the outer instance") {
		t.Errorf("an unknown kind there: %v", err)
	}
}
