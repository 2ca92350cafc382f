package faults

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/host/cleanup"
	"tare/internal/host/machinelock"
	"tare/internal/testing/clustertest"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// Home is a home of tare that shares the tests' images.
type Home struct {
	Directory string
	ids       string // what the ids of its owners begin with
}

// NewHome makes a home; the test is skipped where tare cannot start anything.
func NewHome(t *testing.T) Home {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	testenv.Image(t)
	// Two owners of one home have the first half of their ids in common.
	// t.TempDir has the test's name, in which characters may be that engines do not take.
	directory, err := os.MkdirTemp("", "tare-faults-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	o, err := cleanup.Open(filepath.Join(directory, "home"))
	if err != nil {
		t.Fatal(err)
	}
	h := Home{o.Home(), o.ID()[:len(o.ID())/2]}
	if err := errors.Join(o.Close(), os.Symlink(testenv.Images(), filepath.Join(h.Directory, "images")), os.Mkdir(h.temporary(), 0o755)); err != nil {
		t.Fatal(err)
	}
	return h
}

// temporary is the directory for temporary files, in which nothing may stay.
func (h Home) temporary() string { return h.Directory + ".temporary" }

// Left is what is still there of all that was started below the home.
func (h Home) Left(t *testing.T) []string {
	list := testenv.Left(context.WithoutCancel(t.Context()), h.Directory, h.ids)
	for _, directory := range []string{filepath.Join(h.Directory, "work"), h.temporary()} {
		entries, err := os.ReadDir(directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != ".lock" {
				list = append(list, filepath.Join(directory, e.Name()))
			}
		}
	}
	sockets, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sockets)) {
		if strings.Contains(line, h.Directory) || strings.Contains(line, "tare-"+h.ids) {
			list = append(list, "socket "+strings.TrimSpace(line))
		}
	}
	if os.Getenv(clustertest.Variable) != "" {
		list = append(list, clustertest.Left(h.ids)...)
	}
	return list
}

// program is tare itself, as users get it.
var program string

// Process is tare.
type Process struct {
	*exec.Cmd
	t      *testing.T
	events *bufio.Scanner // lines of its standard output
	read   strings.Builder
	errs   strings.Builder
}

// Tare starts the program, with testdata as its directory.
func (h Home) Tare(t *testing.T, args ...string) *Process {
	t.Helper()
	p := &Process{Cmd: exec.Command(program, args...), t: t}
	p.Dir = "testdata"
	p.Env = append(os.Environ(), "TARE_HOME="+h.Directory, "TMPDIR="+h.temporary(), machinelock.Variable+"="+filepath.Dir(h.Directory))
	p.Stderr = &p.errs
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.events = bufio.NewScanner(out)
	p.events.Buffer(nil, 16<<20)
	t.Cleanup(func() { p.Cmd.Process.Kill() })
	return p
}

// Next reads one event; false after the last.
func (p *Process) Next() bool {
	if !p.events.Scan() {
		return false
	}
	p.read.WriteString(p.events.Text() + "\n")
	return true
}

// Until reads events up to one with all these words in it.
func (p *Process) Until(words ...string) {
	p.t.Helper()
	for p.Next() {
		all := true
		for _, w := range words {
			all = all && strings.Contains(p.events.Text(), w)
		}
		if all {
			return
		}
	}
	p.Wait()
	p.t.Fatalf("tare ended without an event of %q: %s", words, p.output())
}

// end reads the rest and returns the exit status.
func (p *Process) end() int {
	for p.Next() {
		continue
	}
	p.Wait()
	return p.ProcessState.ExitCode()
}

// output is what it printed. Call it after end.
func (p *Process) output() string { return p.errs.String() + p.read.String() }

// Session is tare at work on a run.
type Session struct {
	*Process
	Run *Run
}

// Signal sends a signal to tare.
func (s *Session) Signal(signal syscall.Signal) {
	if err := s.Cmd.Process.Signal(signal); err != nil {
		s.t.Fatalf("%v of tare: %v", signal, err)
	}
}

// WaitFor polls for something of which no event tells.
func (s *Session) WaitFor(what string, happened func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		ended := hasEnded(s.Cmd.Process.Pid) // before the last look
		if happened() {
			return
		}
		if ended || time.Now().After(deadline) {
			s.Cmd.Process.Kill()
			s.end()
			s.t.Fatalf("waited in vain for %s: %s", what, s.output())
		}
	}
}

// Find waits for a process of this home's instances and returns its PID. where is a
// regular expression of its cgroup, and what of its command line.
func (s *Session) Find(where, what string) (pid int) {
	s.t.Helper()
	group, line := regexp.MustCompile(where), regexp.MustCompile(what)
	s.WaitFor("a process "+what+" in "+where, func() bool {
		files, _ := filepath.Glob("/proc/[0-9]*")
		for _, file := range files {
			p := processAt(file)
			if p.pid != s.Cmd.Process.Pid && line.MatchString(p.line) && group.MatchString(p.group) && s.started(p) {
				pid = p.pid
				return true
			}
		}
		return false
	})
	return pid
}

// started says whether a process is of this home's instances. Podman puts a container
// into a group of its own; what is mounted at its /data tells whose it is.
func (s *Session) started(p process) bool {
	if strings.Contains(p.group, "/"+s.Run.Home.ids) || strings.Contains(p.line, s.Run.Home.Directory) {
		return true
	}
	mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", p.pid))
	return strings.Contains(string(mounts), s.Run.Home.Directory)
}

// Above is the next process above one whose command line has these words.
func (s *Session) Above(pid int, words string) int {
	s.t.Helper()
	for at := processAt(fmt.Sprint("/proc/", pid)).parent; at > 1; {
		p := processAt(fmt.Sprint("/proc/", at))
		if strings.Contains(p.line, words) {
			return p.pid
		}
		at = p.parent
	}
	s.t.Fatalf("no process above %d is %s", pid, words)
	return 0
}

// Kill kills a process.
func (s *Session) Kill(pid int) {
	s.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatalf("killing process %d: %v", pid, err)
	}
}

type process struct {
	pid, parent int
	line, group string
}

// hasEnded reports whether a process of this one has exited. Its command line does not say
// it: that is empty for a moment while a program begins, too.
func hasEnded(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err != nil || bytes.Contains(status, []byte("\nState:\tZ"))
}

// processAt reads what /proc knows of a process; one that has ended has no command line.
func processAt(directory string) (p process) {
	line, _ := os.ReadFile(directory + "/cmdline")
	group, _ := os.ReadFile(directory + "/cgroup")
	status, _ := os.ReadFile(directory + "/status")
	p.line, p.group = strings.ReplaceAll(string(line), "\x00", " "), string(group)
	p.pid, _ = strconv.Atoi(filepath.Base(directory))
	if found := parent.FindSubmatch(status); found != nil {
		p.parent, _ = strconv.Atoi(string(found[1]))
	}
	return p
}

var parent = regexp.MustCompile(`(?m)^PPid:\s+(\d+)$`)
