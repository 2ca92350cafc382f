package strictyaml

import (
	"path/filepath"
	"strings"
)

// IsPath tells the path of a YAML file from the name of something built in: a
// path has a slash in it, or .yaml or .yml at its end.
func IsPath(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}
