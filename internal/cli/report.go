package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/published"
	"tare/internal/report"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// reportFiles are the formats with the file that each is written to, in the
// run's folder, where no other is named. Text goes to the standard output.
var reportFiles = map[string]string{"html": "report.html", "md": "report.md", "text": "-", "openmetrics": "report.openmetrics"}

func newReportCommand(app *App) *cobra.Command {
	var (
		formats []string
		out     string
		all     bool
		profile string
		against string
	)
	command := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a run's report: HTML, Markdown, text, or OpenMetrics for Prometheus",
		Long: `Write a run's report. RUN is a run's folder or its name, as tare ls prints it.

HTML is one file that works offline; md is Markdown for an issue or a README;
text is what tare run prints at its end; openmetrics is every trial, contrast and
use of resources with its time, for promtool tsdb create-blocks-from. A report follows from the run's folder
alone: the same folder gives the same bytes.`,
		Example: `  tare report quick-20261121-014500
  tare report ./my-run --format html,md
  tare report ./my-run --format md --out -`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, f := range formats {
				if reportFiles[f] == "" {
					return badInput("--format %s is not known: choose html, md, text or openmetrics", f)
				}
			}
			if out != "" && len(formats) != 1 {
				return badInput("--out names one file, and --format asks for %d: leave one of them out", len(formats))
			}
			in, err := openReport(app, args[0])
			if err != nil {
				return err
			}
			if profile != "" {
				p, err := loadProfile(profile)
				if err != nil {
					return err
				}
				in.Score = new(report.Score(in, p))
			}
			if against != "" {
				study, err := published.Builtin(against)
				if err != nil {
					return badInput("%w", err)
				}
				in.Against = report.Beside(in, study)
			}
			for _, f := range formats {
				if err := writeReport(app, in, f, out, all); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&formats, "format", []string{"html"}, "html, md, text or openmetrics; several with commas")
	flags.StringVarP(&out, "out", "o", "", "the file to write; - is the standard output (default: in the run's folder)")
	flags.StringVar(&profile, "score", "", "add the score sheet by this profile: a built-in one's name, or a file")
	command.RegisterFlagCompletionFunc("score", completeProfile)
	flags.StringVar(&against, "against", "", "add the ratios that this published study printed, beside the measured ones (tare published lists them)")
	command.RegisterFlagCompletionFunc("against", cobra.FixedCompletions(published.Names(), cobra.ShellCompDirectiveNoFileComp))
	flags.BoolVar(&all, "all", false, "text: every metric, not only the primary ones and what operations cost")
	command.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"html", "md", "text", "openmetrics"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

// openReport reads a run and judges it. It is the one place where a report
// gets what it is made of.
func openReport(app *App, name string) (report.Input, error) {
	folder, err := runFolder(app, name)
	if err != nil {
		return report.Input{}, err
	}
	run, err := rundir.Open(folder)
	if err != nil {
		return report.Input{}, badInput("%w", err)
	}
	return report.Of(run, verdict.Contrasts(run.Plan, run.Trials, run.Manifest.Environments)), nil
}

// runFolder finds a run by its folder or by its name below the home folder.
func runFolder(app *App, name string) (string, error) {
	named := filepath.Join(app.Home, "runs", name)
	for _, folder := range []string{name, named} {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder, nil
		}
	}
	return "", badInput("there is no run %s: neither a folder of that name nor %s; `tare ls` lists the runs", name, named)
}

func writeReport(app *App, in report.Input, format, out string, all bool) error {
	if out == "" {
		out = reportFiles[format]
		if out != "-" {
			out = filepath.Join(in.Folder, out)
		}
	}
	if out == "-" {
		return render(app.Stdout, in, format, terminalOptions(app.Stdout, all))
	}
	var text bytes.Buffer
	if err := render(&text, in, format, report.TerminalOptions{All: all}); err != nil {
		return err
	}
	if err := os.WriteFile(out, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w; choose another place with --out", err)
	}
	_, err := fmt.Fprintln(app.Stdout, out)
	return err
}

func render(w io.Writer, in report.Input, format string, o report.TerminalOptions) error {
	switch format {
	case "html":
		return report.HTML(w, in)
	case "md":
		return report.Markdown(w, in)
	case "openmetrics":
		return report.OpenMetrics(w, in)
	}
	return report.Terminal(w, in, o)
}

// terminalOptions finds out what the writer can show: colour only on a
// terminal that has not been told to do without (NO_COLOR).
func terminalOptions(w io.Writer, all bool) report.TerminalOptions {
	o := report.TerminalOptions{Width: usualWidth, All: all}
	columns, terminal := terminalWidth(w)
	if !terminal {
		return o
	}
	o.Width = min(columns, 120)
	o.Colour = os.Getenv("NO_COLOR") == "" && !slices.Contains([]string{"", "dumb"}, strings.ToLower(os.Getenv("TERM")))
	return o
}
