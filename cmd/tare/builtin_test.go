package main

import (
	"os"
	"strings"
	"testing"

	"tare/internal/study"
)

// Kinds, packs and options are those of this program.
func TestEveryBuiltInStudyIsAPlanAtEachScaleAndHasALineInTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/studies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range study.Names() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/reference/studies.md does not list %s", name)
		}
		plan, err := study.Open(name, study.Overrides{})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, scale := range plan.Scales {
			if _, err := study.Open(name, study.Overrides{Scale: scale}); err != nil {
				t.Error(err)
			}
		}
	}
}
