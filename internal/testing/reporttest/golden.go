// Package reporttest makes runs up for the tests of reports: a whole one, one over a
// ladder, a traced one, one with fingerprints.
package reporttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// WithoutScript is a page of the HTML report without the script that draws its
// charts; the data that the script draws stay.
func WithoutScript(page string) string {
	const begin, end = "\n<script>", "</script>"
	before, rest, found := strings.Cut(page, begin)
	if !found {
		return page
	}
	_, after, _ := strings.Cut(rest, end)
	return before + begin + end + after
}

// Golden compares what a format wrote with a file below the test's testdata, which
// UPDATE_GOLDEN=1 writes.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the report gives any more; read the difference, then run the test with UPDATE_GOLDEN=1\n%s", path, got)
	}
}
