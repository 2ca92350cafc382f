package microvmtest

import (
	"os"
	"path/filepath"

	"tare/internal/testing/gobuild"
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
	return path, gobuild.Build(path, "tare/internal/testing/fake"+source, "")
}
