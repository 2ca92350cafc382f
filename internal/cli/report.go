package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/base/term"
	"tare/internal/linux/private"
	"tare/internal/papers/published"
	"tare/internal/report"
	"tare/internal/report/model"
	"tare/internal/run"
	"tare/internal/rundir"
)

func newReportCommand(app *App) *cobra.Command {
	var (
		formats []string
		out     string
		all     bool
		profile string
		against string
		drawn   string
	)
	command := &cobra.Command{
		Use:   "report RUN",
		Short: "Write the report of a run as a page, text, tables or figures",
		Long: `Write the report of a run. RUN is the directory of a run or its name, as tare ls
prints it.

Formats:
` + report.Help() + `
A report is a function of the run directory: the same directory gives the same
bytes.`,
		Example: `  tare report quick-20261121-014500
  tare report ./my-run --format html,md
  tare report ./my-run --format md --out -
  tare report ./my-run --format csv,json --out ./paper
  tare report ./my-run --figures karna-2021 --format svg,pdf`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, f := range formats {
				if _, known := report.Find(f); !known {
					return badInput("--format %s is not known: choose one of %s", f, strings.Join(report.Names(), ", "))
				}
			}
			if out == "-" && len(formats) != 1 {
				return badInput("--out - is one file, and --format asks for %d formats: give a directory, or one format", len(formats))
			}
			in, err := openReport(app, args[0])
			if err != nil {
				return err
			}
			if profile != "" {
				p, err := findProfile(profile)
				if err != nil {
					return err
				}
				in.Score = new(model.Score(in, p))
			}
			if against != "" {
				study, err := published.Builtin(against)
				if err != nil {
					return badInput("%w", err)
				}
				in.Against = model.ComparePublished(study, in)
			}
			if drawn != "" {
				study, err := published.Builtin(drawn)
				if err != nil {
					return badInput("%w", err)
				}
				in.Figures = model.FiguresOf(study, in)
			}
			for _, f := range formats {
				if err := writeFormat(app, in, f, out, model.Options{All: all}, len(formats) > 1); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&formats, "format", []string{"html"}, "`formats`, separated by commas: "+strings.Join(report.Names(), ", "))
	flags.StringVarP(&out, "out", "o", "", "`file` to write, - for stdout; for several formats and for exports, the directory of the files (default: in the run directory, exports below export)")
	flags.StringVar(&profile, "score", "", "add the score sheet of this `profile`, a built-in name or a file")
	flags.StringVar(&against, "against", "", "add the ratios that this published `study` printed (tare published lists the studies)")
	flags.StringVar(&drawn, "figures", "", "draw the figures of this published `study` from the run: in its order and with its numbers, in html, svg and pdf")
	flags.BoolVar(&all, "all", false, "text: show every metric, not only the primary ones and costs per operation")
	_ = command.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(report.Names(), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// openReport reads and evaluates a run.
func openReport(app *App, name string) (model.Input, error) {
	directory, err := app.find(name)
	if err != nil {
		return model.Input{}, err
	}
	in, err := run.OpenReport(directory)
	if err == nil {
		app.checkComplete(in.Incomplete, in.Manifest)
	}
	return in, inputError(err)
}

// findOwnRun finds the directory of a run that is going to be written to.
func findOwnRun(app *App, name string) (string, error) {
	directory, err := app.find(name)
	if err != nil {
		return "", err
	}
	return directory, app.checkOwner(directory)
}

// checkOwner refuses to write into a run of another user, unless --trust-owner is given.
func (a *App) checkOwner(directory string) error {
	if name := a.inArchive(directory); name != "" {
		return badInput("%s is an archive, which tare reads and does not change: name a place with --out, or run it again with tare rerun", name)
	}
	if a.trustOwner {
		return nil
	}
	if err := private.CheckOwner(directory); err != nil {
		return badInput("%w; copy the run, write elsewhere with --out, or give --trust-owner", err)
	}
	return nil
}

// writeFormat writes a format: a report as one file, and exports, or one of several
// formats, into a directory.
func writeFormat(app *App, in model.Input, name, out string, o model.Options, several bool) error {
	format, _ := report.Find(name)
	if format.Export == nil && (!several || out == "") {
		return writeReport(app, in, format, out, o.All)
	}
	files, err := format.Files(in, o)
	if err != nil {
		return fmt.Errorf("make the export %s: %w", name, err)
	}
	switch {
	case out == "-" && len(files) == 1:
		to := app.Stdout
		if !utf8.Valid(files[0].Data) {
			if to, err = app.binary(name); err != nil {
				return err
			}
		}
		_, err := to.Write(files[0].Data)
		return err
	case out == "-":
		return badInput("%s is several files (%s): give --out a directory", name, strings.Join(lists.Map(files, func(f model.File) string { return f.Name }), ", "))
	case out == "":
		if err := app.checkOwner(in.Directory); err != nil {
			return err
		}
	}
	for _, f := range files {
		path := filepath.Join(out, f.Name)
		if out == "" {
			path = filepath.Join(in.Directory, rundir.ExportDirectory, f.Name)
			err = rundir.Replace(in.Directory, filepath.Join(rundir.ExportDirectory, f.Name), f.Data, 0o644)
		} else if err = os.MkdirAll(out, 0o755); err == nil {
			err = rundir.Replace(out, f.Name, f.Data, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write the export to %s: %w; choose another directory with --out", path, bounded.Cause(err))
		}
		fmt.Fprintln(app.Stdout, path)
	}
	return nil
}

func writeReport(app *App, in model.Input, format report.Format, out string, all bool) error {
	within := out == "" && format.File != ""
	if within {
		if err := app.checkOwner(in.Directory); err != nil {
			return err
		}
		out = filepath.Join(in.Directory, format.File)
	}
	if out == "" || out == "-" {
		return format.Write(app.Stdout, in, terminalOptions(app.Stdout, all))
	}
	var text bytes.Buffer
	if err := format.Write(&text, in, model.Options{All: all}); err != nil {
		return err
	}
	if within {
		if err := rundir.Replace(in.Directory, format.File, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write the report to %s: %w; choose another file with --out", out, bounded.Cause(err))
		}
	} else if err := app.deliver(out, "report", text.Bytes()); err != nil {
		return err
	}
	_, err := fmt.Fprintln(app.Stdout, out)
	return err
}

// terminalOptions returns what the writer can show.
func terminalOptions(w io.Writer, all bool) model.Options {
	o := model.Options{Width: term.DefaultWidth, All: all}
	if columns, terminal := term.Width(w); terminal {
		o.Width, o.Colour = min(columns, 120), term.Colour()
	}
	return o
}
