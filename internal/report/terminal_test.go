package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
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
		t.Errorf("%s is not what the report gives any more; read the difference, then run the test with -update\n%s", path, got)
	}
}

func terminalOf(t *testing.T, o TerminalOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := Terminal(&out, fixture(), o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheTerminalShowsTheVerdicts(t *testing.T) {
	golden(t, "terminal.txt", []byte(terminalOf(t, TerminalOptions{Width: 80})))
	golden(t, "terminal-all.txt", []byte(terminalOf(t, TerminalOptions{Width: 120, All: true})))
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 100, 200} {
		for i, line := range strings.Split(terminalOf(t, TerminalOptions{Width: width, Colour: true}), "\n") {
			if n := ansi.StringWidth(line); n > width {
				t.Errorf("at %d columns line %d has %d: %s", width, i+1, n, line)
			}
		}
	}
}

func TestColourAddsNothingButColour(t *testing.T) {
	plain := terminalOf(t, TerminalOptions{Width: 80})
	coloured := terminalOf(t, TerminalOptions{Width: 80, Colour: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("without colour there are escape codes")
	}
	if coloured == plain || regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(coloured, "") != plain {
		t.Error("with colour the text differs")
	}
}

func TestMarkdownShowsTheVerdicts(t *testing.T) {
	var out bytes.Buffer
	if err := Markdown(&out, fixture()); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.md", out.Bytes())
}
