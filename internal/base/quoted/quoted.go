// Package quoted puts what a program printed at the end of a message, and takes it off
// again where one sentence is asked for.
//
// It must not know who printed it, nor where a message is shown.
package quoted

import "strings"

const indent = "  "

// Lines formats the last lines of an output as what follows a message: a heading, and the
// lines below it, indented; "" for none.
func Lines(heading string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\n" + heading + ":")
	for _, line := range lines {
		text.WriteString("\n" + indent + line)
	}
	return text.String()
}

// Cut returns what a message says, and the outputs that it quotes with their headings.
func Cut(message string) (says, output string) {
	var said, printed []string
	lines := strings.Split(message, "\n")
	of := func(i int) bool { return i < len(lines) && strings.HasPrefix(lines[i], indent) }
	for i, line := range lines {
		if i > 0 && (of(i) || of(i+1) && strings.HasSuffix(line, ":")) {
			printed = append(printed, line)
		} else {
			said = append(said, line)
		}
	}
	return strings.Join(said, "\n"), strings.Join(printed, "\n")
}
