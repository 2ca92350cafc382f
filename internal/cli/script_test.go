package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"tare/internal/host/machinelock"
)

func TestMain(m *testing.M) {
	testscript.Main(leaky{m}, map[string]func(){
		"tare": func() { os.Exit(Main(context.Background(), NewApp("test"))) },
		"hold": hold,
		"zip":  makeZip,
	})
}

// makeZip makes a zip of files, as a CI system does.
func makeZip() {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := w.AddFS(os.DirFS(os.Args[2])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := errors.Join(w.Close(), os.WriteFile(os.Args[1], b.Bytes(), 0o600)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hold keeps tares waiting, as one at work on a run of a home.
func hold() {
	lock, err := machinelock.Take(context.Background(), machinelock.Directory(), machinelock.Holder{Run: os.Args[1], Home: os.Args[2]}, func(machinelock.Holder) error { return nil })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	<-ctx.Done() // or until it is killed
	stop()
	lock.Release()
}

// leaky fails tests that leave goroutines.
type leaky struct{ *testing.M }

func (l leaky) Run() int {
	status := l.M.Run()
	if err := goleak.Find(); status == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status
}

// The scripts run whole commands over a run that is made up, so that they need
// no environment.
func TestScriptsOverARun(t *testing.T) {
	home := t.TempDir()
	reportedRun(t, home)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	steps := actionSteps(t, filepath.Join(examples, "ci", "action.yml"))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			mine := filepath.Join(e.WorkDir, "home")
			e.Setenv("TARE_HOME", mine)
			e.Setenv("EXAMPLES", examples)
			e.Setenv("GOVERSION", runtime.Version())
			e.Setenv("GOOS", runtime.GOOS)
			e.Setenv("GOARCH", runtime.GOARCH)
			e.Setenv(machinelock.Variable, e.WorkDir)
			for i, text := range steps {
				if err := os.WriteFile(filepath.Join(e.WorkDir, fmt.Sprintf("action-%d.sh", i+1)), []byte(text), 0o600); err != nil {
					return err
				}
			}
			return os.CopyFS(mine, os.DirFS(home))
		},
	})
}

// actionSteps are the scripts of an action, which get what a workflow says by variables
// alone: text of a workflow within a script would be run by the shell.
func actionSteps(t *testing.T, path string) (scripts []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]any
		Runs   struct {
			Using string
			Steps []struct {
				Shell, Run string
				Env        map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	used := ""
	for _, s := range action.Runs.Steps {
		if s.Shell != "sh" || s.Run == "" || strings.Contains(s.Run, "${{") {
			t.Errorf("%s: a step is no plain script for sh: %q", path, s.Run)
		}
		for name, value := range s.Env {
			used += value
			if !strings.Contains(s.Run, name) {
				t.Errorf("%s: no step uses %s", path, name)
			}
		}
		scripts = append(scripts, s.Run)
	}
	for name := range action.Inputs {
		if !strings.Contains(used, "inputs."+name+" ") {
			t.Errorf("%s: no step gets the input %s", path, name)
		}
	}
	return scripts
}
