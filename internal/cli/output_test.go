package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
)

func TestOutputInAnErrorIsNoLineOfItsOwn(t *testing.T) {
	var out bytes.Buffer
	app := &App{Stdout: &out, Stderr: &out, started: true}
	execRoot(context.Background(), app, &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return errors.New("exit status 1: no such file\nreport: /forged")
	}})
	if got := out.String(); got != "tare: exit status 1: no such file\n  report: /forged\n" {
		t.Errorf("%q", got)
	}
}

func TestAManifestOfAnotherFormatIsNoLineOfItsOwn(t *testing.T) {
	home := t.TempDir()
	directory := reportedRun(t, home)
	if err := os.WriteFile(filepath.Join(directory, "manifest.json"), []byte(`{"format": 2, "tare": "1\nreport: /forged"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runReport(t, home, directory); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

func TestAPanicIsOneSentence(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	app := &App{Stdout: &out, Stderr: &out}
	status := execRoot(context.Background(), app, &cobra.Command{RunE: func(*cobra.Command, []string) error {
		panic("nobody foresaw it")
	}})
	if got := out.String(); status != 1 || strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "tare: this is an error in tare itself: nobody foresaw it; please report it") {
		t.Errorf("status %d: %s", status, got)
	}
}

// Whatever a command prints goes through one writer: a name, a file and a label of a run
// cannot write to the terminal.
func TestNothingFromOutsideActsOnTheTerminal(t *testing.T) {
	home := t.TempDir()
	directory := reportedRun(t, home)
	const hostile = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e"
	manifest := filepath.Join(directory, "manifest.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, bytes.Replace(text, []byte(`"tare": "test"`), []byte(`"tare": "test \u001b[2J \u009b31m \u202e", "image": {"name": "\u001b[2J\u202e", "digest": "d"}`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "runs", "x"+strings.ReplaceAll(hostile, "\x9b", "")+"\nforged"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"report", hostile}, {"show", hostile}, {hostile}, {"--" + hostile}, {"report", "--format", hostile, "x"}, {"stats", hostile}, {"score", "--profile", hostile, "x"},
		{"ls", "runs"}, {"ls", "--json"}, {"show", directory}, {"show", directory, "--json"}, {"report", directory, "--format", "text"}, {"report", directory, "--format", "md", "--out", "-"},
	} {
		var out bytes.Buffer
		Main(context.Background(), &App{Home: home, Stdout: &out, Stderr: &out, Args: append([]string{"tare"}, args...)})
		if out.Len() == 0 || strings.ContainsAny(out.String(), "\x1b\x07\u202e\u009b") || bytes.Contains(out.Bytes(), []byte("J\x9b")) || strings.Contains(out.String(), "\nforged") {
			t.Errorf("%q: %q", args, out.String())
		}
	}
}

func TestALongNameIsNotEchoed(t *testing.T) {
	var said bytes.Buffer
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &said, Home: t.TempDir(), Version: "1", Args: []string{"tare", "show", strings.Repeat("n", 100_000)}}
	if status := Main(t.Context(), app); status != ExitBadInput || said.Len() > 3000 || !strings.Contains(said.String(), "nnn… (10") {
		t.Errorf("%d, %d bytes: %.300s", status, said.Len(), said.String())
	}
}

func TestARunThatMeasuredNothingDoesNotEndWell(t *testing.T) {
	r := &run.Result{Run: &rundir.Run{Plan: &study.Plan{}}, Stopped: "the budget of 1ns is spent"}
	for _, trials := range [][]rundir.Trial{nil, {{Status: rundir.Skipped}}} {
		r.Run.Trials = trials
		exit := (*ExitError)(nil)
		if err := status(&App{}, r); !errors.As(err, &exit) || exit.Status != ExitSomeFailed || err.Error() != "nothing was measured: the budget of 1ns is spent" {
			t.Error(err)
		}
	}
}
