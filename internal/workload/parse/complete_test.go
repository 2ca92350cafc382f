package parse

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A new parser needs a declaration, recorded outputs, a fuzz target and a
// row in the docs: none of them is forgotten.
func TestAParserHasRecordedOutputsAFuzzTargetAndARowInTheDocs(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	targets, page := read("fuzz_test.go"), read("../../../docs/reference/parsers.md")
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
			t.Errorf("docs/reference/parsers.md has no row for %s", name)
		}
	}
	settings := map[string]map[string]map[string]string{}
	if err := json.Unmarshal([]byte(read("testdata/settings.json")), &settings); err != nil {
		t.Fatal(err)
	}
	_, page, _ = strings.Cut(page, "\n## Settings\n")
	for _, row := range strings.Split(page, "\n") {
		for name, samples := range settings {
			if !strings.HasPrefix(row, "| `"+name+"`") {
				continue
			}
			for _, found := range samples {
				for setting := range found {
					if !strings.Contains(row, "`"+setting+"`") {
						t.Errorf("the settings of %s in docs/reference/parsers.md lack %s", name, setting)
					}
				}
			}
			delete(settings, name)
		}
	}
	for name := range settings {
		t.Errorf("the settings of %s are not in docs/reference/parsers.md", name)
	}
	recorded, err := filepath.Glob("testdata/*/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range recorded {
		if name := filepath.Base(filepath.Dir(file)); !slices.Contains(Names(), name) {
			t.Errorf("%s belongs to no parser in tools", file)
		}
	}
}

// Expressions are compiled when they are used, and some lines are rare.
func TestEveryExpressionOfADeclarationCompiles(t *testing.T) {
	for _, name := range Names() {
		d := declarationOf(name)
		all := slices.Concat[[]*pattern](d.Settings, d.Report.Figures, d.Report.Other)
		for _, one := range append(all, d.Split.Before, d.Split.After, d.Report.First, d.Report.Failed) {
			if one != nil {
				one.compiled() // panics
			}
		}
		for _, f := range d.Report.Then {
			if len(f.words) < 3 || len(f.words)%2 == 0 || f.words[1] != "=" {
				t.Errorf("%s: %q is no formula", name, f.words)
			}
		}
	}
}
