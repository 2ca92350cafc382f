package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/base/term"
	"tare/internal/report/model"
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

// checkOptions are the flags of tare workload check.
type checkOptions struct {
	environment string
	image       string
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
		Long: `Check a workload pack: report every error in the file with its line, then run the
pack once in the native environment and show the values of its metrics and where
they were found.

FILE is a file, or the name of a built-in workload.`,
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
				fmt.Fprintf(app.Stdout, "%s: valid\n", args[0])
				return nil
			}
			return c.run(command.Context(), app, plan, show)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&c.environment, "env", "e", "native", "`environment` to run in: NAME or NAME+OPTION=VALUE...")
	flags.StringVar(&c.image, "image", "", "OCI `image` to run in, which a pack with entrypoint: needs: REGISTRY/NAME, docker-daemon:NAME, oci:DIRECTORY or tar:FILE")
	flags.StringArrayVar(&c.set, "set", nil, "set a parameter, `NAME=VALUE`")
	flags.BoolVar(&c.noRun, "no-run", false, "only check the file, and start nothing")
	show.add(flags)
	app.addNoWait(flags)
	return command
}

// plan is a study of one block of the pack in one environment.
func (c checkOptions) plan(pack *workload.Pack) (*study.Plan, error) {
	e, err := study.ParseEnvironment(c.environment)
	if err != nil {
		return nil, badInput("--env %s: %w", c.environment, err)
	}
	parameters, err := study.ParseSettings(c.set, "NAME=VALUE")
	if err != nil {
		return nil, badInput("--set: %w", err)
	}
	plan, err := study.Draft{
		Title: "check of workload " + pack.Name, Name: "check-" + pack.Name, Origin: "tare workload check", Baseline: e.Name,
		Environments: []study.DraftEnvironment{e}, Use: pack.Name, Pack: pack, Parameters: parameters, Reference: c.image,
		Blocks: 1,
	}.Resolve(study.Overrides{})
	if err != nil {
		return nil, badInput("%w", err)
	}
	return plan, nil
}

func (c checkOptions) run(ctx context.Context, app *App, plan *study.Plan, show displayFlags) error {
	o := app.runOptions(plan)
	result, err := executeShown(ctx, app, &o, show, show.display(app))
	if err != nil {
		return err
	}
	switch {
	case show.json && show.quiet:
		if err := printJSON(app.Stdout, map[string]any{"folder": result.Directory, "trials": result.Run.Trials}); err != nil {
			return err
		}
	case !show.json:
		for _, t := range result.Run.Trials {
			printCheck(app, result.Directory, plan.Workloads[0], t)
		}
	}
	return status(app, result)
}

// printCheck shows the values and the output files of one trial.
func printCheck(app *App, directory string, w study.Workload, t rundir.Trial) {
	out := app.Stdout
	fmt.Fprintf(out, "\n%s in %s: %s\n", strings.TrimSpace(w.Name+" "+t.Level), t.Environment, t.Status)
	if t.Reason != "" {
		fmt.Fprintf(out, "%s\n", t.Reason)
	}
	width := terminalOptions(out, false).Width
	if t.Status == rundir.OK {
		rows := [][]string{{"metric", "value", "is better", "from"}}
		var missing []string
		for _, m := range w.Pack.Metrics {
			name, figure := m.Name, "none"
			if v, ok := t.Metrics[m.Name]; ok {
				figure = model.Figure(v, m.Unit)
			} else {
				missing = append(missing, fmt.Sprintf("%s: %s", m.Name, cmp.Or(t.Missing[m.Name], "none here")))
			}
			if m.Primary {
				name += " *"
			}
			rows = append(rows, []string{name, figure, m.Better, w.Pack.Source(m)})
		}
		term.Table(out, width, rows)
		fmt.Fprintf(out, "* primary metric: it decides verdicts\n")
		for _, line := range missing {
			fmt.Fprintf(out, "no value of %s\n", line)
		}
	}
	for _, warning := range t.Warnings {
		fmt.Fprintf(out, "warning: %s\n", warning)
	}
	fmt.Fprintf(out, "\noutput:\n")
	for _, raw := range t.Raw {
		path := filepath.Join(directory, raw.Path)
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
