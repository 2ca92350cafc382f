package run

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/application/secret"
	"tare/internal/rundir"
	"tare/internal/study"
)

const token = "t0ken of the run"

// usesToken is a plan whose driver needs the secret and prints it.
func usesToken(t *testing.T, line string) *study.Plan {
	p := plan(t, "[{use: ./echo.yaml}]", "{blocks: 2, rounds: 1}", two)
	p.Secret = []secret.Source{{Name: "TOKEN", Env: "TARE_TEST_TOKEN"}}
	p.Workloads[0].Pack.Driver.Run = line
	return p
}

func TestASecretIsMaskedInAllThatARunKeeps(t *testing.T) {
	t.Setenv("TARE_TEST_TOKEN", token)
	home := t.TempDir()
	r := execute(t, t.Context(), Options{Home: home, Plan: usesToken(t, `echo "rate $(printf %s "$TOKEN" | wc -c)"; echo "$TOKEN" >&2; test "$TARE_TEST_TOKEN" = ""`)})
	if len(r.Run.Trials) != 4 || r.Failed != 0 || r.Run.Trials[0].Metrics["rate"] != float64(len(token)) {
		t.Errorf("%+v", r.Run.Trials)
	}
	keepsNone(t, home)
}

func TestASecretIsMaskedInErrorsAndEvents(t *testing.T) {
	t.Setenv("TARE_TEST_TOKEN", token)
	home := t.TempDir()
	var heard strings.Builder
	r := execute(t, t.Context(), Options{Home: home, Plan: usesToken(t, `echo "of $TOKEN" >&2; exit 3`), Events: func(e Event) {
		heard.WriteString(e.Message)
		if e.Trial != nil {
			heard.WriteString(e.Trial.Reason + e.Trial.Output)
		}
	}})
	if r.Failed == 0 || !strings.Contains(heard.String(), "of ***") || strings.Contains(heard.String(), token) {
		t.Errorf("%d failed: %s", r.Failed, heard.String())
	}
	keepsNone(t, home)
}

// keepsNone looks for the secret in all files of a home.
func keepsNone(t *testing.T, home string) {
	t.Helper()
	_ = filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(token)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
}

func TestARunNeedsItsSecretsAgainToGoOn(t *testing.T) {
	t.Setenv("TARE_TEST_TOKEN", token)
	home := t.TempDir()
	p := usesToken(t, `echo "rate 5"`)
	r := execute(t, t.Context(), Options{Home: home, Plan: p})
	_, err := Execute(t.Context(), Options{Home: home, Directory: r.Directory})
	if err == nil || !strings.Contains(err.Error(), "secret TOKEN: the environment variable TARE_TEST_TOKEN, which has its value, is not set") {
		t.Errorf("%v", err)
	}
	if again, err := rundir.Open(r.Directory); err != nil || len(again.Trials) != 4 || len(again.Plan.Secret) != 1 || again.Plan.Secret[0].Name != "TOKEN" {
		t.Errorf("%v, %+v", err, again.Plan.Secret)
	}
	t.Setenv("TARE_TEST_TOKEN", token)
	execute(t, t.Context(), Options{Home: home, Directory: r.Directory})
}

func TestAValueThatTheRunWouldStoreIsRefused(t *testing.T) {
	for _, where := range []string{"study", "command line"} {
		t.Setenv("TARE_TEST_TOKEN", token)
		home, o := t.TempDir(), Options{Plan: usesToken(t, `echo "rate 5"`)}
		o.Home = home
		if where == "study" {
			o.Plan.Workloads[0].Pack.Driver.Env = []string{"TOKEN=" + token}
		} else {
			o.Command = []string{"tare", "bench", "--", "login", token}
		}
		_, err := Execute(t.Context(), o)
		if err == nil || !strings.HasPrefix(err.Error(), "secret TOKEN: its value is also in the study, a workload or the command line") {
			t.Errorf("%s: %v", where, err)
		}
		if left, _ := filepath.Glob(filepath.Join(home, "runs", "*")); len(left) > 0 {
			t.Errorf("%s: %q is left", where, left)
		}
	}
}
