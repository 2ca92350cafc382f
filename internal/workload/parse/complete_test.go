package parse

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A new parser needs an entry in the list, recorded outputs, a fuzz target and a
// row in the docs: none of them is forgotten.
func TestAParserHasRecordedOutputsAFuzzTargetAndARowInTheDocs(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	targets, page := read("fuzz_test.go"), read("../../../docs/parsers.md")
	for _, name := range Names() {
		if _, err := os.Stat("testdata/" + name + "/golden.json"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(targets, `fuzz(f, "`+name+`")`) {
			t.Errorf("%s has no fuzz target", name)
		}
		if !slices.ContainsFunc(strings.Split(page, "\n"), func(line string) bool {
			return strings.HasPrefix(line, "|") && strings.Contains(line, "`"+name+"`")
		}) {
			t.Errorf("docs/parsers.md has no row for %s", name)
		}
	}
	recorded, err := filepath.Glob("testdata/*/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range recorded {
		if name := filepath.Base(filepath.Dir(file)); !slices.Contains(Names(), name) {
			t.Errorf("%s belongs to no parser in the list of parse.go", file)
		}
	}
}
