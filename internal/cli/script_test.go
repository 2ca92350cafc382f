package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	testscript.Main(leaky{m}, map[string]func(){
		"tare": func() { os.Exit(Main(context.Background(), NewApp("test"))) },
	})
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
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			mine := filepath.Join(e.WorkDir, "home")
			e.Setenv("TARE_HOME", mine)
			return os.CopyFS(mine, os.DirFS(home))
		},
	})
}
