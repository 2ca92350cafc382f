package report

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks text at spaces into lines that fit the width. A word is never
// broken, since paths and commands are there to be copied: a longer one stands
// alone and goes beyond the width. What stands in backquotes is a command, and one
// word. Spaces at the beginning and between words of one line stay.
func Wrap(text string, width int) (lines []string) {
	for _, given := range strings.Split(text, "\n") {
		line, gap := "", ""
		for i, word := range words(given) {
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

// command in backquotes.
var command = regexp.MustCompile("`[^`]*`")

// words of a line. A command is one, unless it was cut short and nobody can copy
// it any more.
func words(line string) []string {
	const blank = "\x00"
	line = command.ReplaceAllStringFunc(line, func(c string) string {
		if strings.Contains(c, "...") {
			return c
		}
		return strings.ReplaceAll(c, " ", blank)
	})
	words := strings.Split(line, " ")
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], blank, " ")
	}
	return words
}
