package strictyaml

import (
	"path/filepath"
	"strings"
)

// IsPath distinguishes the path of a YAML file from a built-in name: a path has a
// slash, or ends in .yaml or .yml.
func IsPath(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}
