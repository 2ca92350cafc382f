package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/parity"
	"tare/internal/rundir"
)

// toldOf is what a command that is refused says on the standard error.
func toldOf(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := told(t, args...)
	if status != ExitBadInput || out != "" || strings.Count(errs, "\n") != 1 {
		t.Errorf("%q: status %d: %s%s", args, status, out, errs)
	}
	return strings.TrimSuffix(errs, "\n")
}

func TestRemovingAnImageNeedsItsNameAndNoLess(t *testing.T) {
	home := t.TempDir()
	digest := strings.Repeat("ab", 32)
	directory := filepath.Join(home, "images", "images", digest)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sha256:", "sha256:abab", "sha256:cdcdcdcdcdcd"} {
		if output := toldOf(t, "--home", home, "rm", name); !strings.Contains(output, name) {
			t.Errorf("%s: %s", name, output)
		}
	}
	if _, err := os.Stat(directory); err != nil {
		t.Error("an image that nobody named was removed:", err)
	}
	if out, errs, status := told(t, "--home", home, "rm", "sha256:"+digest[:12]); status != 0 {
		t.Error(status, out, errs)
	}
	if _, err := os.Stat(directory); err == nil {
		t.Error("the image that was named is still there")
	}
}

func TestParityOfARunRejectsUnsupportedOptions(t *testing.T) {
	home := t.TempDir()
	directory := reportedRun(t, home)
	w, err := rundir.Resume(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"native", "docker"} {
		if err := w.KeepFingerprint(parity.Fingerprint{Environment: name, Workload: "loop", Facts: map[string]parity.Fact{}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"--only dockr":         `only: unknown environment or workload "dockr"; did you mean "docker"? (known: native, docker, loop)`,
		"--workload lop":       `only: unknown environment or workload "lop"; did you mean "loop"?`,
		"--scale small":        "is a run, whose scale is fixed",
		"--only native":        "has no comparison of native alone",
		"--only native --json": "has no comparison of native alone",
	} {
		if output := toldOf(t, append([]string{"parity", directory}, strings.Fields(flags)...)...); !strings.Contains(output, want) {
			t.Errorf("%s: %s", flags, output)
		}
	}
	for _, flags := range []string{"", "--only docker", "--only docker,loop", "--workload loop"} {
		if out, errs, status := told(t, append([]string{"parity", filepath.Clean(directory)}, strings.Fields(flags)...)...); status != 0 || !strings.Contains(out, "docker vs native") {
			t.Errorf("%q: %d: %s%s", flags, status, out, errs)
		}
	}
}

func TestCommandsThatStartNothingEndAtTheFirstSignal(t *testing.T) {
	for _, args := range [][]string{{"stats", "no.csv", "--baseline", "a"}, {"import", "no.yaml"}, {"report", "no"}, {"show", "no"}, {"ls"}, {"clean"}} {
		var out bytes.Buffer
		given := false
		app := &App{Stdin: &out, Stdout: &out, Stderr: &out, Home: t.TempDir(), Args: append([]string{"tare"}, args...), DefaultSignals: func() { given = true }}
		Main(t.Context(), app)
		if given == (args[0] == "clean") {
			t.Errorf("%v: %v", args, given)
		}
	}
}
