package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/rundir"
	"tare/internal/verdict"
)

func newCompareCommand(app *App) *cobra.Command {
	var asJSON, all bool
	command := &cobra.Command{
		Use:   "compare RUN RUN",
		Short: "Compare two runs of the same study: which layer costs more or less now",
		Long: `Compare two runs of the same study. For every environment, what it costs against
its own run's baseline is compared between the two runs, so that a machine that
was slower on the second day cancels out. The interval is that of two independent
samples; over all comparisons of the table the error rate is 5%.`,
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
			if err := comparable(first, second); err != nil {
				return err
			}
			changes := verdict.Compare(first.Plan, first.Trials, second.Trials)
			differing := differences(first, second)
			if asJSON {
				return printJSON(app.Stdout, map[string]any{"changes": changes, "differences": differing})
			}
			printChanges(app, args, changes, differing, all)
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	command.Flags().BoolVar(&all, "all", false, "every metric, not only the primary ones")
	return command
}

func openRun(app *App, name string) (*rundir.Run, error) {
	folder, err := runFolder(app, name)
	if err != nil {
		return nil, err
	}
	r, err := rundir.Open(folder)
	if err != nil {
		return nil, badInput("%w", err)
	}
	return r, nil
}

func comparable(a, b *rundir.Run) error {
	if a.Plan.Name != b.Plan.Name || a.Plan.Baseline != b.Plan.Baseline {
		return badInput("%s is a run of %s with baseline %s, %s one of %s with baseline %s: only runs of the same study can be compared",
			a.Manifest.Run, a.Plan.Name, a.Plan.Baseline, b.Manifest.Run, b.Plan.Name, b.Plan.Baseline)
	}
	return nil
}

// differences are the facts about the two runs that differ and may be the cause
// of a change.
func differences(a, b *rundir.Run) []string {
	var list []string
	add := func(what, x, y string) {
		if x != y {
			list = append(list, fmt.Sprintf("%s: %s, then %s", what, x, y))
		}
	}
	add("tare", a.Manifest.Tare, b.Manifest.Tare)
	add("image", a.Manifest.Image.Digest, b.Manifest.Image.Digest)
	add("kernel", a.Manifest.Machine.Kernel, b.Manifest.Machine.Kernel)
	add("CPU", a.Manifest.Machine.CPU, b.Manifest.Machine.CPU)
	add("cores", fmt.Sprint(a.Manifest.Machine.Cores), fmt.Sprint(b.Manifest.Machine.Cores))
	for _, e := range a.Plan.Environments {
		x, y := a.Manifest.Environments[e.Name], b.Manifest.Environments[e.Name]
		add(e.Name, string(x.State), string(y.State))
		var programs []string
		for p := range x.Versions {
			programs = append(programs, p)
		}
		slices.Sort(programs)
		for _, p := range programs {
			add(e.Name+" "+p, x.Versions[p], y.Versions[p])
		}
		for _, f := range b.Plan.Environments {
			if f.Name == e.Name {
				add(e.Name+" options", string(e.Options), string(f.Options))
			}
		}
	}
	return list
}

func printChanges(app *App, names []string, changes []verdict.Moved, differing []string, all bool) {
	rows := [][]string{{"", "COST THEN", "NOW", "CHANGE", "95% INTERVAL", "VERDICT"}}
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
		if c.Reason != "" && !slices.Contains(reasons, c.Reason) {
			reasons = append(reasons, c.Reason)
		}
		if name := place(c.Workload, c.Level, c.Metric); name != workload {
			workload = name
			rows = append(rows, []string{name, "", "", "", "", ""})
		}
		rows = append(rows, []string{
			"  " + c.Environment, fmt.Sprintf("×%.3f", c.FirstCost), fmt.Sprintf("×%.3f", c.SecondCost),
			verdict.Change(c.Shift.Estimate), interval, string(c.Verdict),
		})
	}
	fmt.Fprintf(app.Stdout, "%s, then %s\n\n", names[0], names[1])
	table(app.Stdout, terminalOptions(app.Stdout, false).Width, rows)
	fmt.Fprintln(app.Stdout, "\ncost: the environment's value over its own run's baseline; slower: it costs more now")
	for _, r := range reasons {
		fmt.Fprintln(app.Stdout, "no verdict:", r)
	}
	for i, d := range differing {
		if i == 0 {
			fmt.Fprintln(app.Stdout, "\nwhat else differed:")
		}
		fmt.Fprintln(app.Stdout, " ", d)
	}
	if len(changes) == 0 {
		fmt.Fprintln(app.Stdout, "\nno environment has values in both runs")
	}
}
