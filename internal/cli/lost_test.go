package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestACommandWhoseOutputIsLostFails(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"ls", "runs"}, {"published"}, {"--help"}, {"run", "--help"}, {"completion", "bash"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skipf("needs /dev/full: %v", err)
		}
		var said bytes.Buffer
		app := &App{Stdin: strings.NewReader(""), Stdout: full, Stderr: &said, Home: t.TempDir(), Version: "1", Args: append([]string{"tare"}, args...)}
		if status := Main(t.Context(), app); status != 1 || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("%q: %d, %s", args, status, said.String())
		}
		_ = full.Close()
	}
}
