package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/base/lists"
	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

func newCompareCommand(app *App) *cobra.Command {
	var asJSON, all bool
	command := &cobra.Command{
		Use:   "compare RUN RUN",
		Short: "Compare two runs of the same study",
		Long: `Compare two runs of the same study, such as before and after an upgrade of the kernel,
the engine or the runtime. The first table says which layers cost more or less in the
second run: the cost of an environment is relative to the baseline of its own run, so
that a slower machine cancels out. An interval is that of two independent samples, 95%
for its figure, and verdicts have an error rate of 5% over the whole table. The second
table has the values themselves, of the baseline too: a kernel that is slower for all
shows there alone, and so does a machine that was busy, so that there is no verdict.

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
			verdict.AsReported(changes, first.Plan.Baseline, model.Contrasts(first), model.Contrasts(second))
			values := verdict.CompareValues(first.Plan, verdict.Measured{Trials: first.Trials, Manifest: first.Manifest}, verdict.Measured{Trials: second.Trials, Manifest: second.Manifest})
			differing := rundir.Differences(first, second)
			if asJSON {
				return printJSON(app.Stdout, map[string]any{"changes": changes, "values": values, "differences": differing})
			}
			fmt.Fprintf(app.Stdout, "%s, then %s\n\n", args[0], args[1])
			printChanges(app, changes, all)
			printValues(app, first.Plan.Baseline, values, all)
			for i, d := range differing {
				if i == 0 {
					fmt.Fprintln(app.Stdout, "\nother differences:")
				}
				fmt.Fprintln(app.Stdout, " ", d)
			}
			if len(changes) == 0 {
				fmt.Fprintln(app.Stdout, "\nno environment has values in both runs")
			}
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

func printChanges(app *App, changes []verdict.Moved, all bool) {
	rows := [][]string{{"COST", "BEFORE", "AFTER", "CHANGE", "95% INTERVAL", "VERDICT"}}
	var place string
	var reasons []string
	marked := false
	for _, c := range changes {
		if !c.Primary && !all {
			continue
		}
		if name := joined(c.Workload, c.Level, c.Metric); name != place {
			place = name
			rows = append(rows, []string{name, "", "", "", "", ""})
		}
		decided := string(c.Verdict)
		switch {
		case c.Leaning != "":
			decided = "leaning " + string(c.Leaning)
		case c.Verdict == verdict.None:
			decided = "no verdict"
		}
		if len(c.Confounds) > 0 {
			decided, marked = decided+model.Mark, true
		}
		if why := c.Reason.String(); why != "" {
			if !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
			decided += fmt.Sprintf(" [%d]", 1+slices.Index(reasons, why))
		}
		rows = append(rows, []string{
			"  " + c.Environment, verdict.ChangeOf(c.FirstCost), verdict.ChangeOf(c.SecondCost),
			verdict.Change(c.Shift.Estimate), change(c.Shift.Estimate, c.Shift.Low, c.Shift.High, c.Shift.Bounded()), decided,
		})
	}
	for _, m := range verdict.GeomeansOfChanges(changes) {
		if !m.Primary && !all {
			continue
		}
		if name := fmt.Sprintf("%s, geomean of %d", m.Metric, m.Places); name != place {
			place = name
			rows = append(rows, []string{name, "", "", "", "", ""})
		}
		rows = append(rows, []string{"  " + m.Environment, verdict.ChangeOf(m.First), verdict.ChangeOf(m.Second), verdict.Change(m.Log), "", ""})
	}
	term.Table(app.Stdout, terminalOptions(app.Stdout, false).Width, rows)
	fmt.Fprint(app.Stdout, "\n", term.Prose("cost: change of the value against the baseline of the same run, as in its report; slower: it costs more in the second run", terminalOptions(app.Stdout, false).Width))
	if marked {
		fmt.Fprintln(app.Stdout, model.MarkMeans)
	}
	for i, r := range reasons {
		fmt.Fprintf(app.Stdout, "[%d] %s\n", i+1, r)
	}
}

// printValues prints the values before and after, of all environments.
func printValues(app *App, baseline string, values []verdict.MovedValue, all bool) {
	rows := [][]string{{"VALUE", "BEFORE", "AFTER", "CHANGE", "95% INTERVAL", "BLOCKS"}}
	shown := lists.Filter(values, func(c verdict.MovedValue) bool { return c.Primary || all })
	slices.SortStableFunc(shown, func(a, b verdict.MovedValue) int { // of one metric below each other
		return cmp.Compare(firstOf(values, a), firstOf(values, b))
	})
	var place string
	for _, c := range shown {
		if name := joined(c.Workload, c.Level, c.Metric); name != place {
			place = name
			rows = append(rows, []string{name, "", "", "", "", ""})
		}
		rows = append(rows, []string{
			"  " + c.Environment, model.Figure(c.Values[0], c.Unit), model.Figure(c.Values[1], c.Unit),
			verdict.Change(c.Change.Estimate), change(c.Change.Estimate, c.Change.Low, c.Change.High, c.Change.Bounded()), fmt.Sprintf("%d, %d", c.N[0], c.N[1]),
		})
	}
	if len(shown) == 0 {
		return
	}
	fmt.Fprintln(app.Stdout)
	term.Table(app.Stdout, terminalOptions(app.Stdout, false).Width, rows)
	fmt.Fprint(app.Stdout, "\n", term.Prose("value: on the machine and at the time of each run; where "+baseline+" moved as much, the machine or its kernel did, and not a layer", terminalOptions(app.Stdout, false).Width))
}

// firstOf is where the metric of a value is first in a list.
func firstOf(list []verdict.MovedValue, v verdict.MovedValue) int {
	return slices.IndexFunc(list, func(o verdict.MovedValue) bool {
		return o.Workload == v.Workload && o.Level == v.Level && o.Metric == v.Metric
	})
}

// change is the interval of a change.
func change(estimate, low, high float64, bounded bool) string {
	if !bounded {
		return "no interval"
	}
	return verdict.EndsText(estimate, low, high)
}
