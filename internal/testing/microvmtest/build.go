package microvmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BuildFake builds the double of a program, which lies in the folder double of its
// kind's package, into a folder, unless it is there, and returns its path.
func BuildFake(folder, source, name string) (string, error) {
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", path, "tare/internal/testing/fake"+source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the double of %s: %w: %s", name, err, said)
	}
	return path, nil
}
