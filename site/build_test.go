package main

import (
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/testing/gobuild"
	"tare/internal/testing/needs"
)

// The site builds from the tree as it is, strictly, and its pages load nothing from
// other hosts.
func TestTheDocumentationSiteBuilds(t *testing.T) {
	needs.Network(t)
	needs.Program(t, "python3", "bash")
	if err := gobuild.Build("../bin/tare", "../cmd/tare"); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "../scripts/docs.sh").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	loads := regexp.MustCompile(`<(?:script|img|iframe|link[^>]* rel="?stylesheet)[^>]* (?:src|href)="?(https?:)?//[^ >]*`)
	pages := 0
	err := filepath.WalkDir("../build/site/html", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".html") {
			return err
		}
		pages++
		page, err := os.ReadFile(path)
		for _, from := range loads.FindAllString(string(page), -1) {
			t.Errorf("%s loads %s", path, from)
		}
		return err
	})
	if err != nil || pages < 60 {
		t.Errorf("%d pages, %v", pages, err)
	}
	if index, err := os.Stat("../build/site/html/search/search_index.js"); err != nil || index.Size() == 0 {
		t.Errorf("the search has no index where the pages are files: %v", err)
	}
	reports, err := filepath.Glob("../build/site/html/docs/gallery/*/report.html")
	if err != nil || len(reports) < 3 {
		t.Errorf("%d reports in the gallery, %v", len(reports), err)
	}
	for _, report := range reports {
		page, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`href="(raw/[^"]*)"`).FindAllSubmatch(page, -1) {
			name, err := url.PathUnescape(html.UnescapeString(string(link[1])))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(report), name)); err != nil {
				t.Errorf("%s leads nowhere: %v", report, err)
			}
		}
	}
}

// The tutorial comes first, and each page of docs/ has a place.
func TestEachPageHasAPlaceOnTheSite(t *testing.T) {
	text, err := os.ReadFile("mkdocs.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, nav, _ := strings.Cut(string(text), "\nnav:\n")
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^  - ([^:]*):`).FindAllStringSubmatch(nav, -1) {
		sections = append(sections, m[1])
	}
	if got, want := strings.Join(sections, ", "), "Home, Tutorial, How to, Reference, Explanation, Gallery, Development"; got != want {
		t.Errorf("sections %s, want %s", got, want)
	}
	err = filepath.WalkDir("../docs", func(path string, d os.DirEntry, err error) error {
		if page, is := strings.CutPrefix(filepath.ToSlash(path), "../"); err == nil && is && strings.HasSuffix(page, ".md") && !strings.Contains(nav, ": "+page+"\n") {
			t.Errorf("%s has no place", page)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
