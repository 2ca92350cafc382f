package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEveryCommandHasAManualOfItsDay(t *testing.T) {
	out := t.TempDir()
	if err := manuals(out, "1.2", time.Date(2026, 11, 24, 5, 59, 32, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	for name, wanted := range map[string][]string{
		"tare.1":                {`.TH "TARE" "1" "Nov 2026" "tare 1.2"`, ".SH EXIT STATUS", "tare-workload(1)"},
		"tare-run.1":            {`.TH "TARE-RUN" "1"`, "--budget", ".SH EXAMPLE"},
		"tare-workload-check.1": {`.TH "TARE-WORKLOAD-CHECK" "1"`},
	} {
		page, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range wanted {
			if !strings.Contains(strings.ReplaceAll(string(page), `\-`, "-"), text) {
				t.Errorf("%s lacks %q:\n%s", name, text, page)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(out, "tare-help.1")); err == nil {
		t.Error("help has a manual")
	}
}

func TestIndentedLinesOfAHelpTextStayLines(t *testing.T) {
	got := examples("To do it:\n  one\n    two\n\n  three\nThat is it.")
	if want := "To do it:\n\n    one\n      two\n\n    three\n\nThat is it."; got != want {
		t.Errorf("%q", got)
	}
}
