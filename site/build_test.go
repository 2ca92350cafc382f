package main

import (
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
	if err := gobuild.Build("../bin/tare", "../cmd/tare", ""); err != nil {
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
}
