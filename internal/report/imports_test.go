package report

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Formats import the model and its sections, never each other and never this package; the model
// imports no format. The page alone has a figure, which is drawn once. Each package of a format is in the list.
func TestFormatsImportTheModelAlone(t *testing.T) {
	const base = "tare/internal/report"
	packages, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("report.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if !p.IsDir() || p.Name() == "testdata" {
			continue
		}
		allowed := []string{base + "/model", base + "/section"}
		if p.Name() == "html" {
			allowed = append(allowed, base+"/figures")
		}
		switch p.Name() {
		case "model":
			allowed = nil
		case "section", "budget":
			allowed = []string{base + "/model"}
		default:
			if !strings.Contains(string(list), strconv.Quote(base+"/"+p.Name())) {
				t.Errorf("no format in the list is of package %s", p.Name())
			}
		}
		files, _ := filepath.Glob(filepath.Join(p.Name(), "*.go"))
		if len(files) == 0 {
			t.Errorf("%s has no Go files", p.Name())
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range file.Imports {
				path, _ := strconv.Unquote(i.Path.Value)
				if (path == base || strings.HasPrefix(path, base+"/")) && !slices.Contains(allowed, path) {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}
