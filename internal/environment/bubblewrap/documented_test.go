package bubblewrap

import (
	"os"
	"strings"
	"testing"
)

// The page shows the package whole, so what it shows compiles.
func TestThePageOnAddingAnEnvironmentShowsThisPackage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/contributing/adding-an-environment.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, part := range strings.Split(string(page), "```go\n")[1:] {
		code, _, _ := strings.Cut(part, "```")
		shown = append(shown, code)
	}
	source, err := os.ReadFile("bubblewrap.go")
	if err != nil {
		t.Fatal(err)
	}
	want, got := compact(string(source)), compact(strings.Join(shown, "\n"))
	for n := range min(len(want), len(got)) {
		if want[n] != got[n] {
			t.Fatalf("the page differs from the package: it shows\n%s\nwhere the package has\n%s", got[n], want[n])
		}
	}
	if len(want) != len(got) {
		t.Errorf("the page shows %d lines of %d", len(got), len(want))
	}
}

// compact is a text's lines without the empty ones.
func compact(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
