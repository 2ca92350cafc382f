package text

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func terminalOf(t *testing.T, o model.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(term.NewWriter(&out), reporttest.Quick(), o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheTerminalShowsTheVerdicts(t *testing.T) {
	reporttest.Golden(t, "text.txt", []byte(terminalOf(t, model.Options{Width: 80})))
	reporttest.Golden(t, "text-all.txt", []byte(terminalOf(t, model.Options{Width: 120, All: true})))
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 100, 200} {
		for i, line := range strings.Split(terminalOf(t, model.Options{Width: width, Colour: true}), "\n") {
			if n := ansi.StringWidth(line); n > width {
				t.Errorf("at %d columns line %d has %d: %s", width, i+1, n, line)
			}
		}
	}
}

func TestColourAddsNothingButColour(t *testing.T) {
	plain := terminalOf(t, model.Options{Width: 80})
	coloured := terminalOf(t, model.Options{Width: 80, Colour: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("without colour there are escape codes")
	}
	if coloured == plain || regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(coloured, "") != plain {
		t.Error("with colour the text differs")
	}
}
