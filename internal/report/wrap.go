package report

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks text at spaces into lines that fit the width. A word is never
// broken, since paths and commands are there to be copied: a longer one stands
// alone and goes beyond the width. Spaces at the beginning and between words of
// one line stay.
func Wrap(text string, width int) (lines []string) {
	for _, given := range strings.Split(text, "\n") {
		line, gap := "", ""
		for i, word := range strings.Split(given, " ") {
			if i > 0 {
				gap += " "
			}
			if word == "" {
				continue
			}
			if strings.TrimLeft(line, " ") != "" && ansi.StringWidth(line+gap+word) > width {
				lines = append(lines, line)
				line, gap = "", ""
			}
			line, gap = line+gap+word, ""
		}
		lines = append(lines, line)
	}
	return lines
}
