package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// inside are the packages of the agent's program, whose panics its instance shows.
var inside = strings.Fields("agent/guest agent/logdriver agent/native agent/observe agent/server agent/shim")

// A panic in a goroutine ends the program with a trace, whatever main recovers. Goroutines
// are therefore started by crash.Go, or those of a sync.WaitGroup begin with crash.Exit.
func TestEveryGoroutineEndsAPanicWithASentence(t *testing.T) {
	for _, p := range packages(t) {
		path, _ := below(p.ImportPath)
		if path == "base/crash" || path == "cmd/tare-agent" || strings.HasPrefix(path, "testing/") || matches(path, inside) {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: a go statement: use crash.Go", files.Position(n.Pos()))
				case *ast.CallExpr:
					if s, is := n.Fun.(*ast.SelectorExpr); is && s.Sel.Name == "Go" && len(n.Args) == 1 && fmt.Sprint(s.X) != "crash" && !exits(n.Args[0]) {
						t.Errorf("%s: the goroutine does not begin with defer crash.Exit()", files.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

// exits reports whether a function begins with crash.Exit.
func exits(f ast.Expr) bool {
	literal, is := f.(*ast.FuncLit)
	if !is || len(literal.Body.List) == 0 {
		return false
	}
	first, is := literal.Body.List[0].(*ast.DeferStmt)
	if !is {
		return false
	}
	called, is := first.Call.Fun.(*ast.SelectorExpr)
	return is && fmt.Sprint(called.X) == "crash" && called.Sel.Name == "Exit"
}
