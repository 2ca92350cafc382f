package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"tare/internal/host/cleanup"
	"tare/internal/host/machinelock"
	"tare/internal/linux/kvm"
	"tare/internal/testing/gobuild"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// program is tare itself, as users get it.
var program string

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == asTare {
		main()
	}
	kvm.ProbeMain()
	flag.Parse()
	run := tests(m.Run)
	if !testing.Short() { // which skips all tests that run the program
		run = func() int { return withProgram(m.Run) }
	}
	goleak.VerifyTestMain(run)
}

type tests func() int

func (t tests) Run() int { return t() }

func withProgram(run func() int) int {
	directory, err := os.MkdirTemp("", "tare-program-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	program = filepath.Join(directory, "tare")
	if err := gobuild.Build(program, "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// Each script tells of one side of the tool. Beside testscript's commands it
// has:
//
//	exits N COMMAND...       the command must end with this status
//	jsonlines FILE KEY       every line of the file is a JSON object with the key
func TestScripts(t *testing.T) {
	needsInstances(t)
	testscript.Run(t, testscript.Params{
		WorkdirRoot: needs.Disk(t), // whose file system scripts compare with one in memory
		Dir:         "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			home, err := newHome(filepath.Join(e.WorkDir, "home"))
			if err != nil {
				return err
			}
			for _, file := range []string{"tiny.yaml", "study.yaml"} {
				text, err := os.ReadFile(filepath.Join("testdata", file))
				if err == nil {
					err = os.WriteFile(filepath.Join(e.WorkDir, file), text, 0o644)
				}
				if err != nil {
					return err
				}
			}
			e.Setenv("TARE_HOME", home.directory)
			e.Setenv("TARE", program)
			e.Setenv(machinelock.Variable, e.WorkDir)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
			for _, name := range []string{"DOCKER_HOST", "TARE_PODMAN_HOST"} {
				e.Setenv(name, os.Getenv(name))
			}
			e.Defer(func() {
				if left := home.left(); len(left) > 0 {
					e.T().Fatal("left behind: ", left)
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "jsonlines": jsonLines},
	})
}

func needsInstances(t *testing.T) {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	testenv.Image(t)
}

func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s ended with status %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

func jsonLines(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: jsonlines FILE KEY")
	}
	lines := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil || object[args[1]] == nil {
			ts.Fatalf("line %d is no object with the key %s (%v): %s", lines+1, args[1], err, line)
		}
		lines++
	}
	if lines == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
}

// home is a home of tare that shares the tests' images.
type home struct {
	directory string
	ids       string // what the ids of its owners begin with
}

func newHome(directory string) (home, error) {
	if err := os.MkdirAll(testenv.Images(), 0o755); err != nil {
		return home{}, err
	}
	// Two owners of one home have the first half of their ids in common.
	o, err := cleanup.Open(directory)
	if err != nil {
		return home{}, err
	}
	h := home{o.Home(), o.ID()[:len(o.ID())/2]}
	return h, errors.Join(o.Close(), os.Symlink(testenv.Images(), filepath.Join(h.directory, "images")))
}

// left is what is still there of all that was started below the home.
func (h home) left() []string {
	list := testenv.Left(context.Background(), h.directory, h.ids)
	entries, _ := os.ReadDir(filepath.Join(h.directory, "work"))
	for _, e := range entries {
		if e.Name() != ".lock" {
			list = append(list, "owner "+e.Name())
		}
	}
	return list
}

// tare is a process of the tool under test, with the lines that it prints.
type tare struct {
	*exec.Cmd
	lines *bufio.Scanner
	errs  strings.Builder
}

func (h home) tare(t *testing.T, args ...string) *tare {
	t.Helper()
	p := &tare{Cmd: exec.Command(program, args...)}
	p.Dir = "testdata"
	p.Env = append(os.Environ(), "TARE_HOME="+h.directory, "TMPDIR="+h.temporary(t), machinelock.Variable+"="+t.TempDir())
	p.Stderr = &p.errs
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	p.lines.Buffer(nil, 1<<20)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill() })
	return p
}

// temporary is the directory for temporary files, in which nothing may stay.
func (h home) temporary(t *testing.T) string {
	directory := h.directory + ".temporary"
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	return directory
}

// until reads what the process prints up to a line with these words in it.
func (p *tare) until(words ...string) bool {
	for p.lines.Scan() {
		all := true
		for _, w := range words {
			all = all && strings.Contains(p.lines.Text(), w)
		}
		if all {
			return true
		}
	}
	return false
}

// end reads the rest and returns the exit status.
func (p *tare) end() (status int, rest string) {
	var text strings.Builder
	for p.lines.Scan() {
		text.WriteString(p.lines.Text() + "\n")
	}
	p.Wait()
	return p.ProcessState.ExitCode(), text.String()
}

// clean fails where anything is left behind.
func (h home) clean(t *testing.T) {
	t.Helper()
	for _, line := range h.left() {
		t.Errorf("left behind: %s", line)
	}
	if entries, _ := os.ReadDir(h.temporary(t)); len(entries) > 0 {
		t.Errorf("temporary files are left: %v", entries)
	}
}
