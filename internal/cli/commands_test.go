package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Annotations are commands to the runner, and the only ones.
func TestAnnotationsAreWrittenAsTheyAre(t *testing.T) {
	home := t.TempDir()
	reportedRun(t, home)
	budget := filepath.Join(home, "budget.txt")
	if err := os.WriteFile(budget, []byte("time docker/native <= 1000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for format, commands := range map[string]bool{"github": true, "md": false, "text": false} {
		var out, said bytes.Buffer
		app := &App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Home: home, Version: "1", Args: []string{"tare", "check", "loop-1", "--budget", budget, "--format", format, "--allow-undecided"}}
		Main(t.Context(), app)
		if strings.HasPrefix(out.String(), "::") != commands || out.Len() == 0 {
			t.Errorf("%s: %s%s", format, out.String(), said.String())
		}
	}
}
