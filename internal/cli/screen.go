package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"tare/internal/report"
	"tare/internal/run"
)

// usualWidth is that of a terminal which does not tell its own, and of texts that
// are laid out for none in particular.
const usualWidth = 80

// terminalWidth is how many columns the writer has, if it is a terminal.
func terminalWidth(w io.Writer) (columns int, terminal bool) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 10 {
		return columns, true
	}
	return usualWidth, true
}

// prose is a text in lines that fit; what continues a line is indented. Commands
// in backquotes and paths stay whole, since they are there to be copied.
func prose(text string, columns int) string {
	var out strings.Builder
	for _, given := range strings.Split(text, "\n") {
		for i, line := range report.Wrap(given, columns-2) {
			if i > 0 {
				out.WriteString("  ")
			}
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// say prints a message on the standard error: in lines that fit where that is a
// terminal, and as it is where a program or a log takes it.
func (a *App) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if columns, terminal := terminalWidth(a.Stderr); terminal {
		fmt.Fprint(a.Stderr, prose(text, columns))
		return
	}
	fmt.Fprintln(a.Stderr, text)
}

// ending are a run's last lines: why it ended, and where its report lies.
func (a *App) ending(r *run.Result) string {
	why := "ended: " + r.Stopped + "\n"
	if columns, terminal := terminalWidth(a.Stdout); terminal {
		why = prose("ended: "+r.Stopped, columns)
	}
	return why + "report: " + filepath.Join(r.Folder, "report.html") + "\n"
}
