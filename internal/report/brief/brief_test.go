package brief

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/needs"
	"tare/internal/testing/reporttest"
)

func TestABriefReportHasTwoPages(t *testing.T) {
	needs.Program(t, "pdftotext")
	many := reporttest.Quick()
	many.Plan.Study = strings.Repeat("a long title of a study ", 40) + "\x1b[2J"
	for range 5 {
		many.Contrasts = append(many.Contrasts, many.Contrasts...)
	}
	for name, in := range map[string]model.Input{
		"quick": reporttest.Quick(), "ladder": reporttest.Ladder(), "nodes": reporttest.OnNodes("a", "b", "c"), "long": many,
	} {
		pages := pagesOf(t, in)
		if len(pages) != 2 {
			t.Fatalf("%s: %d pages", name, len(pages))
		}
		for i, wants := range [][]string{{"In short", "page 1 of 2"}, {"Conditions", "command:", "page 2 of 2"}} {
			for _, want := range wants {
				if !strings.Contains(pages[i], want) {
					t.Errorf("%s: page %d has no %q:\n%.300s", name, i+1, want, pages[i])
				}
			}
		}
	}
}

func TestABriefReportSaysWhatTheOthersSay(t *testing.T) {
	needs.Program(t, "pdftotext")
	pages := pagesOf(t, reporttest.Quick())
	words := strings.Fields(pages[0])
	for _, want := range []string{"×13.9", "[×13.4,", "slower", "n=12", "native:"} {
		if !slices.Contains(words, want) {
			t.Errorf("the first page has no %s:\n%s", want, pages[0])
		}
	}
}

func TestABriefReportIsTheSameBytes(t *testing.T) {
	var all [2]bytes.Buffer
	for i := range all {
		if err := Write(&all[i], reporttest.Quick(), model.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(all[0].Bytes(), all[1].Bytes()) {
		t.Error("two reports of one run differ")
	}
}

func pagesOf(t *testing.T, in model.Input) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "brief.pdf")
	var out bytes.Buffer
	if err := Write(&out, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", file, "-").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\f"), "\f")
}
