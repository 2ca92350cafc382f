package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The package holds flags and calls only: it prints to the writers of App, starts
// no programs, and leaves computing to the packages that it calls.
func TestCommandsHoldFlagsAndCallsOnly(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	imports := func(path string) bool {
		return slices.Contains([]string{"os/exec", "math", "tare/internal/stats"}, path) ||
			strings.HasPrefix(path, "gonum.org/")
	}
	uses := func(name string) bool {
		return slices.Contains([]string{"os.Stdout", "os.Stderr", "os.Stdin"}, name) || strings.HasPrefix(name, "fmt.Print")
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); imports(path) {
				t.Errorf("%s imports %s", set.Position(spec.Pos()), path)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			if ok && uses(pkg.Name+"."+selector.Sel.Name) && file != "app.go" { // app.go has the real streams
				t.Errorf("%s uses %s.%s", set.Position(n.Pos()), pkg.Name, selector.Sel.Name)
			}
			return true
		})
	}
}
