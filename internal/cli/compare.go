package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/base/term"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

func newCompareCommand(app *App) *cobra.Command {
	var asJSON, all bool
	command := &cobra.Command{
		Use:   "compare RUN RUN",
		Short: "Compare two runs of the same study",
		Long: `Compare two runs of the same study: which layers cost more or less in the second.
The cost of an environment is relative to the baseline of its own run, so that a
slower machine cancels out. The intervals are those of two independent samples,
with an error rate of 5% over all comparisons of the table.

RUN is a name, a directory, the file of tare pack, or a zip with one run in it, such as
CI systems make of the files of a job.`,
		Example: `  tare compare quick-20261121-014500 quick-20261122-014500
  tare compare baseline.tare.tar.zst ./my-run
  tare compare artifacts.zip ./my-run`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			first, err := openRun(app, args[0])
			if err != nil {
				return err
			}
			second, err := openRun(app, args[1])
			if err != nil {
				return err
			}
			if err := rundir.SameStudy(first, second); err != nil {
				return badInput("%w", err)
			}
			changes := verdict.Compare(first.Plan, first.Trials, second.Trials)
			differing := rundir.Differences(first, second)
			if asJSON {
				return printJSON(app.Stdout, map[string]any{"changes": changes, "differences": differing})
			}
			printChanges(app, args, changes, differing, all)
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	command.Flags().BoolVar(&all, "all", false, "show every metric, not only the primary ones")
	return command
}

func openRun(app *App, name string) (*rundir.Run, error) {
	directory, err := app.find(name)
	if err != nil {
		return nil, err
	}
	r, err := rundir.Open(directory)
	if err != nil {
		return nil, badInput("%w", err)
	}
	app.checkComplete(r.Incomplete, r.Manifest)
	return r, nil
}

func printChanges(app *App, names []string, changes []verdict.Moved, differing []string, all bool) {
	rows := [][]string{{"", "COST BEFORE", "AFTER", "CHANGE", "95% INTERVAL", "VERDICT"}}
	var workload string
	var reasons []string
	for _, c := range changes {
		if !c.Primary && !all {
			continue
		}
		interval := "no interval"
		if c.Shift.Bounded() {
			interval = fmt.Sprintf("[%s, %s]", verdict.Change(c.Shift.Low), verdict.Change(c.Shift.High))
		}
		if !c.Reason.IsZero() && !slices.Contains(reasons, c.Reason.String()) {
			reasons = append(reasons, c.Reason.String())
		}
		if name := joined(c.Workload, c.Level, c.Metric); name != workload {
			workload = name
			rows = append(rows, []string{name, "", "", "", "", ""})
		}
		rows = append(rows, []string{
			"  " + c.Environment, fmt.Sprintf("×%.3f", c.FirstCost), fmt.Sprintf("×%.3f", c.SecondCost),
			verdict.Change(c.Shift.Estimate), interval, string(c.Verdict),
		})
	}
	fmt.Fprintf(app.Stdout, "%s, then %s\n\n", names[0], names[1])
	term.Table(app.Stdout, terminalOptions(app.Stdout, false).Width, rows)
	fmt.Fprintln(app.Stdout, "\ncost: value relative to the baseline of the same run; slower: it costs more in the second run")
	for _, r := range reasons {
		fmt.Fprintln(app.Stdout, "no verdict:", r)
	}
	for i, d := range differing {
		if i == 0 {
			fmt.Fprintln(app.Stdout, "\nother differences:")
		}
		fmt.Fprintln(app.Stdout, " ", d)
	}
	if len(changes) == 0 {
		fmt.Fprintln(app.Stdout, "\nno environment has values in both runs")
	}
}
