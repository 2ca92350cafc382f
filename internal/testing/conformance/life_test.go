package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/server"
	"tare/internal/environment"
	"tare/internal/testing/gobuild"
	"tare/internal/testing/testenv"
)

func startsAndLeavesNothing(t *testing.T, s *scene) {
	name := strings.Repeat("Long--", 10) + "4-" // the longest that is valid
	began, clock := time.Now(), server.Monotonic()
	i := s.start(t, name)
	took := time.Since(began)
	hello := i.Agent().Hello()
	if hello.PID <= 0 || hello.CPUs <= 0 || hello.Kernel == "" || hello.Clock <= 0 {
		t.Errorf("the first word is %+v", hello)
	}
	var sum time.Duration
	for _, p := range i.Phases() {
		if p.Duration < 0 {
			t.Errorf("phase %s took %v", p.Name, p.Duration)
		}
		sum += p.Duration
	}
	// What a provider looks up after the first word is no part of the start, and can take
	// longer on a busy machine. An instance with this machine's clock says when that was.
	spoke := took
	if at := hello.Clock - clock; at > 0 {
		spoke = min(at, took)
	}
	if sum > took || sum < spoke/2 && !gobuild.Raced() {
		t.Errorf("the phases %v add up to %v, and the start took %v, of which %v to the first word", i.Phases(), sum, took, spoke)
	}
	run(t, i, "echo x >/data/file; echo x >/etc/tare-was-here; sync")
	run(t, i, "setsid sleep 1000 >/dev/null 2>&1 </dev/null & setsid sleep 1000 & true")
	s.end(t, i)

	again := s.start(t, name)
	if got := run(t, again, "cat /data/file /etc/tare-was-here 2>/dev/null; true"); got != "" {
		t.Errorf("the next instance sees the last one's files: %q", got)
	}
	began = time.Now()
	s.end(t, again)
	if exited := again.Details().Exited; exited.Before(began) || exited.After(time.Now()) {
		t.Errorf("its Stop does not say when it had exited")
	}
}

func twoAtOnce(t *testing.T, s *scene) {
	names := []string{"left", "right"}
	instances := make([]environment.Instance, len(names))
	var all sync.WaitGroup
	for n, name := range names {
		all.Go(func() {
			var err error
			if instances[n], err = s.env.Start(t.Context(), s.request(name)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, i := range instances {
		if i != nil {
			t.Cleanup(func() { i.Stop(context.Background()) })
		}
	}
	if t.Failed() {
		return
	}
	for n, i := range instances {
		run(t, i, fmt.Sprintf("echo %s >/data/mine; echo %s >/etc/mine; sync", names[n], names[n]))
	}
	for n, i := range instances {
		if got := run(t, i, "cat /data/mine /etc/mine"); got != names[n]+"\n"+names[n] {
			t.Errorf("%s reads %q", names[n], got)
		}
	}
	if err := instances[0].Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got := run(t, instances[1], "echo alive"); got != "alive" {
		t.Errorf("the end of one ended the other: %q", got)
	}
	s.end(t, instances[1])
}

func aWrongNameIsRefused(t *testing.T, s *scene) {
	for _, name := range []string{"", ".", "..", "../up", "a/b", "-x", "a b", "ä", "a\n"} {
		i, err := s.env.Start(t.Context(), s.request(name))
		if err == nil {
			i.Stop(context.Background())
			t.Errorf("an instance could be called %q", name)
		} else if !strings.Contains(err.Error(), "invalid name of an instance") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func aCancelledStartLeavesNothing(t *testing.T, s *scene) {
	parts := []float64{0, 0.1, 0.4, 0.7, 0.9}
	if s.emulated() {
		parts = []float64{0, 0.2, 0.8}
	}
	for _, part := range parts {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(part*float64(s.took)))
		i, err := s.env.Start(ctx, s.request("hasty"))
		cancel()
		if err == nil { // it was quicker this time
			s.end(t, i)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cut short after %.0f%%: %v", 100*part, err)
		}
		s.nothingLeft(t)
	}
}

func aDeathIsNoticed(t *testing.T, s *scene) {
	i := s.start(t, "killed")
	p, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	processes := testenv.HoldInstance(t, i)
	if s.kind == "kubernetes" {
		// The shim of a pod that died is the node's: its containerd removes it together
		// with what is left of the pod, after a minute or, on a busy machine, several.
		processes = testenv.Hold(t, testenv.PIDs(t, testenv.Cgroups(i)...)...)
	}
	for _, pid := range testenv.PIDs(t, testenv.Cgroups(i)...) {
		syscall.Kill(pid, syscall.SIGKILL) // one may have ended with another
	}
	select {
	case <-i.Agent().Done():
	case <-time.After(30 * time.Second):
		t.Fatal("nobody noticed that the instance is dead")
	}
	if err := i.Agent().Err(); !errors.Is(err, agent.ErrGone) {
		t.Errorf("the reason of the end is %v", err)
	}
	// The agent may have reported the end of the command before its own.
	if exit, err := p.Wait(t.Context()); !errors.Is(err, agent.ErrGone) && (err != nil || exit.Signal != "SIGKILL") {
		t.Errorf("a command of a dead instance ended with %+v, %v", exit, err)
	}
	if _, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"true"}}); !errors.Is(err, agent.ErrGone) {
		t.Errorf("a command in a dead instance gives %v", err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, line := range processes.Running(settling) {
		t.Error(line)
	}
	s.nothingLeft(t)
}

// All users of an instance write to /data, servers that drop root among them; no other
// user of the host comes there, nor to the image, the agent and the notes.
func noOtherUserOfTheHostComesIn(t *testing.T, s *scene) {
	i := s.shared
	run(t, i, "cp /bin/true /data/program; chmod 4755 /data/program")
	nobody := agent.Command{Argv: []string{"/bin/sh", "-c", "cd /data && mkdir mine && echo x >mine/file && mv mine yours && rm -r yours && ./program"}, User: "65534:65534"}
	if exit, err := i.Agent().Run(t.Context(), nobody); err != nil || !exit.OK() {
		t.Errorf("a server that drops root, in /data: %+v, %v", exit, err)
	}
	directories := []string{testenv.Images()}
	for _, name := range []string{"agent", "images", "vms", "work"} {
		directories = append(directories, filepath.Join(s.home, name))
	}
	admitted := fs.FileMode(0)
	if s.rootless() {
		admitted = 0o010 // shows that an access control list lets its user pass
	}
	for _, directory := range directories {
		if info, err := os.Stat(directory); err == nil && info.Mode().Perm()&^admitted != 0o700 {
			t.Errorf("%s is open to other users: %v", directory, info.Mode())
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}
