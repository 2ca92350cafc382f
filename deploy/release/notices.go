package main

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"tare/deploy/linked"
)

// writeNotices writes the notices of Go's standard library and of all modules that the
// packages are linked from. Equal texts are written once.
func writeNotices(w io.Writer, packages []string) error {
	modules, err := linked.Modules(".", packages...)
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("looking for Go's standard library: %w", err)
	}
	texts, err := textsOf(append(modules, linked.Module{Name: "Go's standard library", Directories: []string{strings.TrimSpace(string(root))}}))
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

// textsOf are the notices of modules. A module without any is an error.
func textsOf(modules []linked.Module) ([]licence, error) {
	of := map[string][]string{} // names, by the text
	for _, m := range modules {
		files, err := linked.Notices(m.Directories...)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no file with its licence", m.Name)
		}
		for _, f := range files {
			of[f.Text] = append(of[f.Text], m.Name)
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
