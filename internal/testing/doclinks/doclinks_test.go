package doclinks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryLinkOfThePagesLeadsSomewhere(t *testing.T) {
	pages, err := Pages(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 20 || !slices.ContainsFunc(pages, func(p string) bool { return filepath.Base(p) == "README.md" }) {
		t.Errorf("only these pages were found: %q", pages)
	}
	for _, page := range pages {
		broken, err := Broken(page)
		if err != nil {
			t.Error(err)
		}
		for _, line := range broken {
			t.Error(line)
		}
	}
}

func TestBrokenLinksAreFoundAndOthersAreNot(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("other.md", "# A `code` title, with [a link](other.md)\n\n## Again\n## Again\n```\n# no heading\n```\n<a id=\"own\"></a>\n")
	page := write("page.md", strings.Join([]string{
		"# Page",
		"[a](other.md) [b](other.md#a-code-title-with-a-link) [c](other.md#again-1) [d](other.md#own) [e](#page) [f](https://example.org/x#y)",
		"`[not](a-link.md)`",
		"```", "[not](a-link.md)", "```",
		"[g](missing.md) and [h](other.md#no-heading)",
		"[i]: gone.md",
		"[j](#again)",
	}, "\n"))
	got, err := Broken(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		page + ":7: missing.md: no such file",
		page + ":7: other.md#no-heading: no such heading",
		page + ":8: gone.md: no such file",
		page + ":9: #again: no such heading",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
