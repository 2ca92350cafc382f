package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// PackageOf returns the distribution package of this machine that owns a
// command.
func PackageOf(program string) ([]string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%s: not found on this machine, so its package is unknown: name the package with --package, or an image that has the command with --image", program)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	for _, candidate := range packagePaths(path) {
		out, err := exec.Command("dpkg-query", "-S", candidate).Output()
		if err != nil {
			continue
		}
		if name := ownerIn(string(out)); name != "" {
			return []string{whole(name)}, nil
		}
	}
	return nil, fmt.Errorf("%s (%s): no package of this machine owns it, so it cannot be installed into the image: name an image that has it with --image", program, path)
}

var minimal = regexp.MustCompile(`^(python[0-9.]*)-minimal$`)

// whole is the package with all of an interpreter's library, where the program is in one
// with a part of it. It depends on that one.
func whole(name string) string {
	if name == "perl-base" {
		return "perl"
	}
	return minimal.ReplaceAllString(name, "$1")
}

// packagePaths are the paths by which a package may own a program: dpkg records
// the path that the package was built with, with or without /usr, and not the
// links to it.
func packagePaths(path string) (candidates []string) {
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		paths = append(paths, real)
	}
	for _, p := range paths {
		candidates = append(candidates, p, "/usr"+p, strings.TrimPrefix(p, "/usr"))
	}
	return candidates
}

// ownerIn reads the first package in the output of dpkg-query -S:
// PACKAGE[:ARCHITECTURE][, PACKAGE...]: PATH, or a diversion.
func ownerIn(output string) string {
	for line := range strings.Lines(output) {
		if owners, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(owners, "diversion by") {
			name, _, _ := strings.Cut(strings.Split(owners, ", ")[0], ":")
			return name
		}
	}
	return ""
}
