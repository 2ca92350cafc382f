package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/term"
	"tare/internal/run"
	"tare/internal/rundir"
)

// maxMessage is the longest message that is printed: it may quote what somebody else
// wrote.
const maxMessage = 32 << 10

// say prints a message to stderr: wrapped on a terminal, and on one line where a
// program or a log reads it.
func (a *App) say(format string, args ...any) {
	text := a.named(fmt.Sprintf(format, args...))
	if len(text) > maxMessage {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxMessage], ""), len(text))
	}
	if columns, terminal := term.Width(a.Stderr); terminal {
		fmt.Fprint(a.Stderr, term.Prose(text, columns))
		return
	}
	fmt.Fprintln(a.Stderr, text)
}

// ending returns the last lines of a run: why it ended, and the path of its
// report.
func (a *App) ending(r *run.Result) string {
	why := "ended: " + r.Stopped + "\n"
	if columns, terminal := term.Width(a.Stdout); terminal {
		why = term.Prose("ended: "+r.Stopped, columns)
	}
	return why + "report: " + filepath.Join(r.Directory, "report.html") + "\n"
}

// checkComplete says which results of a run are missing. Those of one that has ended
// give an exit status, unless there is another one.
func (a *App) checkComplete(missing string, m rundir.Manifest) {
	if missing == "" {
		return
	}
	a.say("tare: %s", missing)
	a.incomplete = a.incomplete || m.HasEnded()
}

// binary is stdout for binary data, which a terminal does not take.
func (a *App) binary(what string) (io.Writer, error) {
	if _, terminal := term.Width(a.Stdout); terminal {
		return nil, badInput("--out -: stdout is a terminal, and %s is binary: name a file, or redirect it", what)
	}
	return term.Binary(a.Stdout), nil
}

// writeFile writes a file that the user names: one that exists is replaced, and a
// device or pipe is written to.
func writeFile(path string, data []byte) error { return writeWith(path, data, 0o644) }

func writeWith(path string, data []byte, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, mode)
	}
	return rundir.Replace(filepath.Dir(path), filepath.Base(path), data, mode)
}

func printJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(value)
}

// joined joins the words that are not empty.
func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
