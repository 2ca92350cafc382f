// Package apptest is what tests of the readers of applications share.
package apptest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/application"
)

// Golden compares an application with a file below testdata, and returns its text.
// Paths below testdata are HERE. UPDATE_GOLDEN=1 writes the file.
func Golden(t *testing.T, app *application.Application, file string) string {
	t.Helper()
	text, err := json.MarshalIndent(app, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(string(text), here, "HERE") + "\n"
	golden := filepath.Join("testdata", file)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
	return got
}

// Whole fails where a service lacks what every one has, or depends on one that is absent
// or that comes after it.
func Whole(t *testing.T, app *application.Application) {
	t.Helper()
	before := map[string]bool{}
	for n, s := range app.Services {
		if s.Image == "" || len(s.Names) == 0 {
			t.Errorf("service %d: %+v", n, s)
		}
		for _, d := range s.DependsOn {
			if !before[d.Service] {
				t.Errorf("%s depends on %s, which is not there before it", s.Name, d.Service)
			}
		}
		before[s.Name] = true
	}
}
