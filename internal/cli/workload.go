package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"tare/internal/cost"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

func newWorkloadCommand(app *App) *cobra.Command {
	command := &cobra.Command{
		Use:   "workload",
		Short: "Check a workload pack",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(newWorkloadCheckCommand(app))
	return command
}

// checkOptions are what the user asked `tare workload check` for.
type checkOptions struct {
	environment string
	set         []string
	noRun       bool
}

func newWorkloadCheckCommand(app *App) *cobra.Command {
	var (
		c    checkOptions
		show displayFlags
	)
	command := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a workload pack and run it once",
		Long: `Check a workload pack of your own: every mistake in the file is named with its
place; then it runs once in native, and the figures that came out are shown with
where they were found.

A built-in workload is checked by its name.`,
		Example: `  tare workload check ./my-pack.yaml
  tare workload check ./my-pack.yaml --set clients=10 --env docker`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			pack, err := workload.Find(args[0])
			if err != nil {
				return badInput("%w", err)
			}
			plan, err := c.plan(pack)
			if err != nil {
				return err
			}
			if c.noRun {
				if show.json {
					return printJSON(app.Stdout, pack)
				}
				fmt.Fprintf(app.Stdout, "%s: in order\n", args[0])
				return nil
			}
			return c.run(command.Context(), app, plan, show)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&c.environment, "env", "e", "native", "where it runs: NAME or NAME+OPTION=VALUE...")
	flags.StringArrayVar(&c.set, "set", nil, "a parameter's value, NAME=VALUE")
	flags.BoolVar(&c.noRun, "no-run", false, "only read the file, and start nothing")
	show.add(flags)
	return command
}

// plan makes a study of one block of the pack in one environment.
func (c checkOptions) plan(pack *workload.Pack) (*study.Plan, error) {
	name, options, err := parseEnvironment(c.environment)
	if err != nil {
		return nil, err
	}
	entry := yaml.MapSlice{{Key: "use", Value: pack.Name}}
	for _, text := range c.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, badInput("--set %s: is not NAME=VALUE", text)
		}
		entry = append(entry, yaml.MapItem{Key: key, Value: value})
	}
	document := yaml.MapSlice{
		{Key: "study", Value: "check of workload " + pack.Name},
		{Key: "baseline", Value: name},
		{Key: "environments", Value: yaml.MapSlice{{Key: name, Value: options}}},
		{Key: "workloads", Value: []yaml.MapSlice{entry}},
		{Key: "design", Value: yaml.MapSlice{{Key: "blocks", Value: 1}}},
	}
	return planOf(study.File{Origin: "tare workload check", Name: "check-" + pack.Name}, document, pack, study.Overrides{})
}

func (c checkOptions) run(ctx context.Context, app *App, plan *study.Plan, show displayFlags) error {
	display := show.display(app)
	result, err := run.Execute(ctx, run.Options{Home: app.Home, Version: app.Version, Command: app.Args, Plan: plan, Events: display.Event})
	display.Close()
	if err := outcome(ctx, result, err); err != nil {
		return err
	}
	if show.json {
		return status(app, result)
	}
	w := plan.Workloads[0]
	for _, t := range result.Run.Trials {
		printCheck(app, result.Folder, w, t)
	}
	return status(app, result)
}

// printCheck shows what one trial gave, and where it can be looked up.
func printCheck(app *App, folder string, w study.Workload, t rundir.Trial) {
	out := app.Stdout
	fmt.Fprintf(out, "\n%s in %s: %s\n", strings.TrimSpace(w.Name+" "+t.Level), t.Environment, t.Status)
	if t.Reason != "" {
		fmt.Fprintf(out, "%s\n", t.Reason)
	}
	width := terminalOptions(out, false).Width
	if t.Status == rundir.OK {
		rows := [][]string{{"metric", "figure", "is better", "from"}}
		var missing []string
		for _, m := range w.Pack.Metrics {
			name, figure := m.Name, "none"
			if v, ok := t.Metrics[m.Name]; ok {
				figure = report.Figure(v, m.Unit)
			} else {
				missing = append(missing, fmt.Sprintf("%s: %s", m.Name, cmp.Or(t.Missing[m.Name], "none here")))
			}
			if m.Primary {
				name += " *"
			}
			rows = append(rows, []string{name, figure, m.Better, sourceOf(w.Pack, m)})
		}
		table(out, width, rows)
		fmt.Fprintf(out, "* judged by it; the others are shown beside it\n")
		for _, line := range missing {
			fmt.Fprintf(out, "none of %s\n", line)
		}
	}
	for _, warning := range t.Warnings {
		fmt.Fprintf(out, "warning: %s\n", warning)
	}
	fmt.Fprintf(out, "\nwhat was printed:\n")
	for _, raw := range t.Raw {
		path := filepath.Join(folder, raw.Path)
		fmt.Fprintf(out, "  %s (%d bytes)\n", path, raw.Bytes)
		if t.Status == rundir.Failed && raw.Name == "driver.stdout" {
			if text, err := os.ReadFile(path); err == nil {
				for line := range bytes.Lines(text[:min(len(text), 800)]) {
					fmt.Fprintf(out, "    %s\n", bytes.TrimRight(line, "\r\n"))
				}
			}
		}
	}
}

// sourceOf says in a few words where a figure came from.
func sourceOf(p workload.Pack, m workload.Metric) string {
	switch {
	case cost.Named(m.Name), m.Name == workload.CPUSeconds:
		return "tare, from outside"
	case m.Name == workload.StartAll, p.Startup:
		return "tare, the start"
	case slices.Contains(workload.Measured, m.FieldName()):
		return "tare, by the instance's clock"
	}
	field := m.FieldName()
	switch {
	case p.Parser.Name != "":
		return "parser " + p.Parser.Name + ", " + field
	case p.Parser.JSON:
		return "JSON, " + field
	case p.Parser.CSV:
		return "CSV, " + field
	}
	return "expression, " + field
}
