// Package term lays text out for a terminal: its width, lines that are wrapped,
// and tables.
//
// It must not know what the text is about.
package term

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// DefaultWidth is used where the output is no terminal, or one that does not
// report its width.
const DefaultWidth = 80

func fileOf(w io.Writer) (*os.File, bool) {
	if own, ok := w.(*Writer); ok {
		w = own.out
	}
	file, ok := w.(*os.File)
	return file, ok
}

// Width returns the number of columns of the writer, and whether it is a
// terminal.
func Width(w io.Writer) (columns int, terminal bool) {
	file, ok := fileOf(w)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 10 {
		return columns, true
	}
	return DefaultWidth, true
}

// DefaultHeight is used for a terminal that does not report its height.
const DefaultHeight = 24

// Height returns the number of lines of a terminal.
func Height(w io.Writer) int {
	if file, ok := fileOf(w); ok {
		if _, lines, err := term.GetSize(int(file.Fd())); err == nil && lines > 0 {
			return lines
		}
	}
	return DefaultHeight
}

// Dumb reports whether $TERM names a terminal that cannot move its cursor.
func Dumb() bool { return os.Getenv("TERM") == "dumb" }

// Colour reports whether a terminal shows colours: $NO_COLOR (no-color.org) and
// $TERM decide.
func Colour() bool {
	return os.Getenv("NO_COLOR") == "" && !slices.Contains([]string{"", "dumb"}, strings.ToLower(os.Getenv("TERM")))
}

// Prose wraps a text to the columns and indents continuation lines.
func Prose(text string, columns int) string {
	var out strings.Builder
	for _, given := range strings.Split(text, "\n") {
		for i, line := range Wrap(given, columns-2) {
			if i > 0 {
				out.WriteString("  ")
			}
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// Flow wraps paragraphs to the columns. Indented lines are lists or commands and
// are kept.
func Flow(text string, columns int) string {
	var paragraphs []string
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		var lines []string
		open := false
		for _, line := range strings.Split(paragraph, "\n") {
			indented := strings.TrimLeft(line, " \t") != line
			if open && !indented {
				lines[len(lines)-1] += " " + line
			} else {
				lines = append(lines, line)
			}
			open = !indented
		}
		var wrapped []string
		for _, line := range lines {
			if strings.TrimLeft(line, " \t") == line {
				wrapped = slices.Concat(wrapped, Wrap(line, columns))
			} else {
				wrapped = append(wrapped, line)
			}
		}
		paragraphs = append(paragraphs, strings.Join(wrapped, "\n"))
	}
	return strings.Join(paragraphs, "\n\n")
}

// Table prints rows in columns. The last column takes the rest of the width and
// is wrapped.
func Table(w io.Writer, width int, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i] = slices.Clone(row)
		for j, text := range row {
			rows[i][j] = Cell(text)
		}
	}
	widths := columnWidths(rows)
	indent := TableWidth(rows)
	lastWidth := max(width-indent, 24)
	for _, row := range rows {
		var line strings.Builder
		for i, n := range widths {
			line.WriteString(row[i] + strings.Repeat(" ", n-ansi.StringWidth(row[i])+2))
		}
		last := Wrap(row[len(row)-1], lastWidth)
		fmt.Fprintln(w, strings.TrimRight(line.String()+last[0], " "))
		for _, more := range last[1:] {
			fmt.Fprintln(w, strings.Repeat(" ", indent)+more)
		}
	}
}

// Cell is a text in one line.
func Cell(text string) string { return strings.NewReplacer("\r\n", " ", "\n", " ").Replace(text) }

// TableWidth is the width of all columns of a table except the last.
func TableWidth(rows [][]string) int {
	total := 0
	for _, n := range columnWidths(rows) {
		total += n + 2
	}
	return total
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
	}
	return widths
}

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
