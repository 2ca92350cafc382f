package score

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/strictyaml"
)

// Find returns a profile: a file where the name looks like a path, else the
// built-in one.
func Find(pathOrName string) (*Profile, error) {
	if !strictyaml.IsPath(pathOrName) {
		return Builtin(pathOrName)
	}
	data, err := os.ReadFile(pathOrName)
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w; the built-in profiles are %s", err, strings.Join(Names(), ", "))
	}
	return Load(strings.TrimSuffix(filepath.Base(pathOrName), ".yaml"), pathOrName, data)
}
