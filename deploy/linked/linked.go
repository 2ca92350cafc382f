// Package linked finds the modules that Go packages are compiled from, and the files with
// the licences of these. It must not know what is done with the licences, nor which of them
// are allowed.
package linked

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Module is one that packages are compiled from, besides the main one. Its directories are
// those of the packages, and those above them within the module: each can have a licence of
// its own.
type Module struct {
	Name        string // path and version
	Directories []string
}

// Modules are those of the packages that `go list` names when it runs in a directory, and
// of all that these import, for amd64 and arm64.
func Modules(directory string, arguments ...string) (modules []Module, err error) {
	found := map[string]map[string]bool{}
	for _, architecture := range []string{"amd64", "arm64"} {
		list := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,Module"}, arguments...)...)
		list.Dir = directory
		list.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+architecture, "CGO_ENABLED=0")
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("listing what %s are compiled from: %w", strings.Join(arguments, " "), err)
		}
		for in := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p struct {
				Dir    string
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := in.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("reading what go list printed: %w", err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			name := p.Module.Path + " " + p.Module.Version
			if found[name] == nil {
				found[name] = map[string]bool{}
			}
			for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
				found[name][dir] = true
			}
		}
	}
	for name, directories := range found {
		m := Module{Name: name}
		for dir := range directories {
			m.Directories = append(m.Directories, dir)
		}
		slices.Sort(m.Directories)
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b Module) int { return strings.Compare(a.Name, b.Name) })
	return modules, nil
}

// notice matches the names of files that a licence asks to be passed on, and notCode those
// of licences of other things than code, and code.
var (
	notice  = regexp.MustCompile(`(?i)^((un)?(licen[cs]e|copying)|notice|patents)([._-].*)?$`)
	notCode = regexp.MustCompile(`(?i)(\.(go|docs)|-logo)$`)
)

// File is one with a licence or a notice.
type File struct{ Name, Text string }

// Notices are the files of directories that a licence asks to be passed on.
func Notices(directories ...string) (files []File, err error) {
	for _, dir := range directories {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() || !notice.MatchString(e.Name()) || notCode.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			files = append(files, File{e.Name(), string(text)})
		}
	}
	return files, nil
}
