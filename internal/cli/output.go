package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tare/internal/base/bounded"
	"tare/internal/base/term"
	"tare/internal/metrics/exporter"
	"tare/internal/run"
	"tare/internal/run/progress"
	"tare/internal/rundir"
	"tare/internal/study"
)

// maxMessage is the longest message that is printed: it may quote what somebody else
// wrote.
const maxMessage = 32 << 10

// maxWord is the longest word of one, such as a name that somebody gave.
const maxWord = 1000

var longWord = regexp.MustCompile(fmt.Sprintf(`\S{%d}\S*`, maxWord))

// say prints a message to stderr: wrapped on a terminal, and on one line where a
// program or a log reads it.
func (a *App) say(format string, args ...any) {
	text := longWord.ReplaceAllStringFunc(a.named(fmt.Sprintf(format, args...)), func(word string) string {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(word[:maxWord/10], ""), len(word))
	})
	if len(text) > maxMessage {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxMessage], ""), len(text))
	}
	if columns, terminal := term.Width(a.Stderr); terminal {
		fmt.Fprint(a.Stderr, term.Prose(text, columns))
		return
	}
	fmt.Fprintln(a.Stderr, text)
}

// ending returns the last lines of a run: why it ended, the path of its report, and how to
// repeat it.
func (a *App) ending(r *run.Result) string {
	why := "ended: " + r.Stopped + "\n"
	if columns, terminal := term.Width(a.Stdout); terminal {
		why = term.Prose("ended: "+r.Stopped, columns)
	}
	return why + a.whereabouts(r)
}

// whereabouts is the path of the report of a run, and how to repeat it.
func (a *App) whereabouts(r *run.Result) string {
	text := "report: " + filepath.Join(r.Directory, "report.html") + "\n"
	if !r.Interrupted {
		text += "repeat: tare rerun " + run.Name(a.Home, r.Directory) + "\n"
	}
	return text
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

// deliver writes what a command made to the file of --out, - for stdout. what names it.
func (a *App) deliver(out, what string, data []byte) error {
	if out == "-" {
		_, err := a.Stdout.Write(data)
		return err
	}
	if err := writeFile(out, data); err != nil {
		return fmt.Errorf("write the %s to %s: %w; %s", what, out, bounded.Cause(err), bounded.Way(err, "choose another file with --out"))
	}
	return nil
}

// runOptions are those of a run of a plan; nil is that of the run's directory.
func (a *App) runOptions(plan *study.Plan) run.Options {
	return run.Options{Home: a.Home, Version: a.Version, Command: a.Args, Plan: plan}
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

// displayFlags choose how a run shows its progress.
type displayFlags struct {
	quiet, json bool
	listen      string // an address; "" for none
}

func (d *displayFlags) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&d.quiet, "quiet", "q", false, "print only the result")
	flags.BoolVar(&d.json, "json", false, "print events as lines of JSON; with -q one document")
}

// display shows progress on stderr, so that a pipe gets the result alone. JSON
// events are the result, so they go to stdout.
func (d displayFlags) display(app *App) progress.Display {
	switch {
	case d.quiet:
		return progress.Quiet{}
	case d.json:
		return progress.JSON(app.Stdout)
	}
	return progress.New(app.Stderr)
}

// document prints the result as JSON: as one document, or as a line after the events.
func (d displayFlags) document(w io.Writer, value any) error {
	if d.quiet {
		return printJSON(w, value)
	}
	return json.NewEncoder(w).Encode(value)
}

func (d *displayFlags) addListen(flags *pflag.FlagSet) {
	flags.Var((*listenAddress)(&d.listen), "listen", "serve metrics of the run for Prometheus on this `address`, such as 127.0.0.1:9464")
}

// listenAddress is checked with the flags, also where nothing is started.
type listenAddress string

func (a *listenAddress) Set(text string) error {
	*a = listenAddress(text)
	return exporter.CheckAddress(text)
}

func (a *listenAddress) String() string { return string(*a) }
func (a *listenAddress) Type() string   { return "string" }

// serve serves the metrics of a run with --listen, from before the run starts until
// stop is called.
func (d displayFlags) serve(app *App, o *run.Options) (stop func(), err error) {
	if d.listen == "" {
		return func() {}, nil
	}
	l, err := exporter.Listen(d.listen, app.Version)
	if err != nil {
		return nil, badInput("--listen: %w", err)
	}
	line := fmt.Sprintf("metrics of the run: http://%s/metrics", l.Address())
	if !l.Local() {
		line += " (reachable from other machines, without authentication)"
	}
	app.say("%s", line)
	shown := o.Events
	o.Watch = l.Watch
	o.Events = func(e run.Event) {
		l.Update(e)
		shown(e)
	}
	return func() { l.Close() }, nil
}
