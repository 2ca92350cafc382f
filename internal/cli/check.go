package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/base/term"
	"tare/internal/report/budget"
	"tare/internal/report/model"
)

func newCheckCommand(app *App) *cobra.Command {
	var (
		file, format, out string
		allowUndecided    bool
	)
	names := append([]string{"text"}, lists.Map(budget.Formats, func(f budget.Format) string { return f.Name })...)
	command := &cobra.Command{
		Use:   "check RUN --budget FILE",
		Short: "Check that the layers of a run cost no more than a budget",
		Long: `Check whether the layers of a run cost no more than a budget allows. A budget has a
rule a line:

  # ratio of two environments, with the interval of the report
  nginx requests_per_second docker/native >= 0.9
  redis clients=50 get_rps gvisor/docker >= -80%
  # value in one environment, on the machine of the run
  p99 gvisor <= 5ms

A rule is met or broken if the whole interval is on one side of its bound, and else
undecided.`,
		Example: `  tare check nginx-20261121-014500 --budget budget.txt
  tare check ./my-run --budget budget.txt --format junit --out tare.xml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(names, format) {
				return badInput("--format %s is not known: choose one of %s", format, strings.Join(names, ", "))
			}
			if file == "" {
				return badInput("--budget is missing: name a file with a rule a line, such as nginx requests_per_second docker/native >= 0.9")
			}
			text, err := bounded.ReadFile(file, budget.MaxSize)
			if err != nil {
				return badInput("read the budget %s: %w", file, bounded.Cause(err))
			}
			rules, err := budget.Parse(file, text)
			if err != nil {
				return badInput("%w", err)
			}
			in, err := openReport(app, args[0])
			if err != nil {
				return err
			}
			results, err := budget.Check(rules, in)
			if err != nil {
				return badInput("check the run %s by %s: %w", in.Manifest.Run, file, err)
			}
			sheet := budget.NewSheet(in.Manifest.Run, file, results)
			sheet.AllowUndecided = allowUndecided
			var b bytes.Buffer
			if err := writeSheet(&b, sheet, format, terminalOptions(app.Stdout, false).Width); err != nil {
				return err
			}
			if format == "github" && out == "-" { // its lines are commands, which text is not
				_, err = term.Binary(app.Stdout).Write(b.Bytes())
			} else {
				err = app.deliver(out, "check", b.Bytes())
			}
			if err != nil {
				return err
			}
			return statusOf(sheet)
		},
	}
	flags := command.Flags()
	flags.StringVar(&file, "budget", "", "`file` with a rule a line")
	flags.StringVar(&format, "format", "text", "`format`: "+strings.Join(names, ", "))
	flags.StringVarP(&out, "out", "o", "-", "`file` to write, - for stdout")
	flags.BoolVar(&allowUndecided, "allow-undecided", false, "exit with 0 if no rule is broken")
	_ = command.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return command
}

// statusOf is the error that carries the exit status of a sheet.
func statusOf(s budget.Sheet) error {
	switch {
	case s.Outcome == budget.Broken:
		return &ExitError{Status: ExitBroken, Err: fmt.Errorf("the budget %s is broken: %s", s.Budget, s)}
	case s.Outcome == budget.Undecided && !s.AllowUndecided:
		return &ExitError{Status: ExitUndecided, Err: fmt.Errorf("the budget %s is undecided: %s; more blocks narrow an interval, and --allow-undecided accepts it", s.Budget, s)}
	}
	return nil
}

func writeSheet(w io.Writer, s budget.Sheet, format string, width int) error {
	for _, f := range budget.Formats {
		if f.Name == format {
			return f.Write(w, s)
		}
	}
	rows := [][]string{{"", "RULE", "BOUND", "MEASURED", "BLOCKS"}}
	var reasons []string
	confounded := false
	for _, r := range s.Results {
		confounded = confounded || r.Mark() != ""
		rows = append(rows, []string{string(r.Outcome) + r.Mark(), r.Subject(), r.Limit(), r.Measured(), fmt.Sprint(r.N)})
		if r.Reason != "" {
			reasons = append(reasons, fmt.Sprintf("%s, line %d: %s", r.Outcome, r.Line, r.Reason))
		}
	}
	term.Table(w, width, rows)
	fmt.Fprintf(w, "\n%s\n", s)
	if confounded {
		fmt.Fprint(w, term.Prose(model.Mark+" "+model.Confounded+": tare parity "+s.Run, width))
	}
	for _, reason := range slices.Compact(reasons) {
		fmt.Fprint(w, term.Prose(term.Cell(reason), width))
	}
	return nil
}
