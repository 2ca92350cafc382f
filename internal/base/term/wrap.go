package term

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks text at spaces into lines that fit the width. It never breaks a
// word, since paths and commands are there to be copied: a longer word gets a
// line of its own and exceeds the width. Text in backquotes is a command and
// counts as one word. Leading spaces and spaces within a line are kept.
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

var commandInBackquotes = regexp.MustCompile("`[^`]*`")

// words splits a line at spaces. A command in backquotes stays one word, unless
// it was truncated and cannot be copied anyway.
func words(line string) []string {
	const blank = "\x00"
	line = commandInBackquotes.ReplaceAllStringFunc(line, func(c string) string {
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
