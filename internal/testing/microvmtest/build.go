package microvmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BuildFake builds the fake of a program, tare/internal/testing/fakeSOURCE, into a
// directory, unless it is there, and returns its path.
func BuildFake(dir, source, name string) (string, error) {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", path, "tare/internal/testing/fake"+source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the fake %s: %w: %s", name, err, output)
	}
	return path, nil
}
