package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// byPath are the functions that open or change what a path leads to, links included.
var byPath = strings.Fields("Chmod Chown Chtimes Create CreateTemp Link Mkdir MkdirAll MkdirTemp Open OpenFile ReadDir ReadFile Remove RemoveAll Rename Symlink Truncate WriteFile")

// filled are the packages that work in directories that somebody else filled: roots of
// images and instances, and runs. The functions are those of package os that they call
// all the same, with paths whose every part tare has made, or which belong to the host.
var filled = map[string]string{
	"environment/bubblewrap":     "Mkdir",                                                                      // root and data of an instance
	"environment/native":         "Chmod Mkdir MkdirAll",                                                       // root, data, upper and work of an instance
	"environment/oci":            "Chmod Mkdir MkdirAll OpenFile ReadFile WriteFile",                           // a bundle; a pipe before the instance is there; /proc; the file of a seccomp option
	"environment/support/rootfs": "CreateTemp Link Mkdir Open OpenFile ReadDir ReadFile Remove Rename Symlink", // a walk of names that are no links; a root itself, and a file beside it
	"linux/beneath":              "Remove",                                                                     // of the top of a tree
	"rundir":                     "Chmod MkdirAll ReadDir ReadFile",                                            // the run itself, as the user names it; /proc/locks
}

// What a path leads to in such a directory is its filler's choice. linux/beneath, os.Root
// and openFile of rundir stay in it.
func TestPathsBelowWhatOthersFilledAreResolvedBeneathIt(t *testing.T) {
	for _, p := range packages(t) {
		path, _ := below(p.ImportPath)
		allowed, is := filled[path]
		if !is {
			continue
		}
		var called []string
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, is := n.(*ast.SelectorExpr); is && slices.Contains(byPath, s.Sel.Name) {
					if x, is := s.X.(*ast.Ident); is && x.Name == "os" {
						called = append(called, s.Sel.Name)
						if !slices.Contains(strings.Fields(allowed), s.Sel.Name) {
							t.Errorf("%s/%s calls os.%s: use linux/beneath or an os.Root, or say here why not", path, name, s.Sel.Name)
						}
					}
				}
				return true
			})
		}
		for _, name := range strings.Fields(allowed) {
			if !slices.Contains(called, name) {
				t.Errorf("%s calls os.%s no more: take it from the list", path, name)
			}
		}
	}
}
