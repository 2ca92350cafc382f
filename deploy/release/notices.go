package main

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

// notice matches the names of files that a licence asks to be passed on.
var notice = regexp.MustCompile(`(?i)^((un)?(licen[cs]e|copying)|notice|patents)([._-].*)?$`)

// notCode are licences of other things than code, and code.
var notCode = regexp.MustCompile(`(?i)(\.(go|docs)|-logo)$`)

// writeNotices writes the notices of Go's standard library and of all modules that the
// packages are linked from. Equal texts are written once.
func writeNotices(w io.Writer, packages []string) error {
	list := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,Module"}, packages...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing what %s are linked from: %w", strings.Join(packages, " "), err)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("looking for Go's standard library: %w", err)
	}
	directories := map[string]string{strings.TrimSpace(string(root)): "Go's standard library"}
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
			return err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		// A directory within the module can have a licence of its own.
		for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
			directories[dir] = p.Module.Path + " " + p.Module.Version
		}
	}
	texts, err := textsOf(directories)
	if err != nil {
		return err
	}
	fmt.Fprint(w, "tare is made from the following, besides its own code. Each text is that of a file of\nthe module, or of several with the same text.\n")
	for _, text := range texts {
		fmt.Fprintf(w, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 72), strings.Join(text.of, "\n"), strings.TrimRight(text.text, " \n"))
	}
	return nil
}

type licence struct {
	text string
	of   []string
}

// textsOf are the notices in directories, by the names of what these are of. A name
// without any is an error.
func textsOf(directories map[string]string) ([]licence, error) {
	of := map[string][]string{} // names, by the text
	found := map[string]bool{}
	for dir, name := range directories {
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
			of[string(text)] = append(of[string(text)], name)
			found[name] = true
		}
	}
	for _, name := range directories {
		if !found[name] {
			return nil, fmt.Errorf("%s has no file with its licence", name)
		}
	}
	var texts []licence
	for text, names := range of {
		slices.Sort(names)
		texts = append(texts, licence{text, slices.Compact(names)})
	}
	slices.SortFunc(texts, func(a, b licence) int {
		return strings.Compare(strings.Join(a.of, "\n")+a.text, strings.Join(b.of, "\n")+b.text)
	})
	return texts, nil
}
