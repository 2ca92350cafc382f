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
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"tare/internal/machinelock"
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
			return os.CopyFS(mine, os.DirFS(home))
		},
	})
}
