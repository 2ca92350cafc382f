// Package searchpath completes the PATH of this process, by which it finds the programs of
// the system, and finds programs in another PATH. It must not know which programs those are.
package searchpath

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Complete adds the directories of system programs to the PATH, at its end: that of an
// ordinary user often lacks /usr/sbin, where runc, iptables and mke2fs are. A PATH that has
// none of the directories of every login was made for a purpose and stays as it is.
func Complete() { _ = os.Setenv("PATH", completed(os.Getenv("PATH"))) }

func completed(path string) string {
	directories := filepath.SplitList(path)
	if !slices.Contains(directories, "/usr/bin") && !slices.Contains(directories, "/bin") {
		return path
	}
	for _, directory := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if !slices.Contains(directories, directory) {
			directories = append(directories, directory)
		}
	}
	return strings.Join(directories, string(filepath.ListSeparator))
}

// Find finds a program as a shell does, in the directories of a PATH.
func Find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, directory := range filepath.SplitList(path) {
		full := filepath.Join(directory, name)
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("no such command in PATH (%s): %w", path, fs.ErrNotExist)
}
