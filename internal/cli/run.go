package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/study"
)

func newRunCommand(app *App) *cobra.Command {
	var (
		over   study.Overrides
		o      run.Options
		seed   uint64
		resume string
		dryly  bool
		strict bool
		show   displayFlags
	)
	command := &cobra.Command{
		Use:   "run STUDY | --resume RUN",
		Short: "Run a study: a file, or the name of a built-in one",
		Long: `Run a study: a YAML file, or a built-in study by its name (tare ls studies).

Each block runs every environment once, in random order, so that what happens to
the machine happens to all. At the end stand the verdicts and the path of the
HTML report. A run that was interrupted or killed goes on with --resume.

Exit status: 0, 2 for a mistake in the study or a flag (nothing was started),
3 where some trials failed and the rest is reported, or where only the baseline
works here, 4 where --strict found a confound (no trial was run), 130 when
interrupted.`,
		Example: `  tare run quick
  tare run ./redis.yaml --budget 5m
  tare run quick --only native,docker,redis --blocks 10
  tare run karna-2021 --scale small
  tare run quick --listen 127.0.0.1:9464
  tare run --resume quick-20261121-014500`,
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == (resume != "") || len(args) > 1 {
				return fmt.Errorf("needs one study, or --resume RUN")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			o.Home, o.Version, o.Command = app.Home, app.Version, app.Args
			if resume != "" {
				if err := goesOn(command); err != nil {
					return err
				}
				folder, err := runFolder(app, resume)
				if err != nil {
					return err
				}
				o.Folder = folder
			} else {
				if command.Flags().Changed("seed") {
					over.Seed = &seed
				}
				if err := positive(command, "blocks", "budget"); err != nil {
					return err
				}
				plan, err := resolve(args[0], over)
				if err != nil {
					return err
				}
				if dryly {
					return dry(app, plan, show.json, printPlan)
				}
				if err := forewarn(app, plan, show); err != nil {
					return err
				}
				o.Plan = plan
			}
			if strict {
				if err := refuseUnfair(command.Context(), app, o); err != nil {
					return err
				}
			}
			return execute(command.Context(), app, o, show)
		},
	}
	flags := command.Flags()
	flags.IntVar(&over.Blocks, "blocks", 0, "run exactly so many blocks, with the interval for a fixed number")
	flags.DurationVar(&over.Budget, "budget", 0, "spend at most this time, where verdicts are still open (5m, 1h)")
	flags.StringVar(&over.Scale, "scale", "", "the study in one of the sizes that it brings, such as small (tare show STUDY)")
	flags.StringSliceVar(&over.Only, "only", nil, "only these environments and workloads; the baseline always stays")
	flags.Uint64Var(&seed, "seed", 0, "of the random order; by default one is drawn and recorded")
	flags.StringVarP(&o.Folder, "out", "o", "", "folder of the run (default: below the home, named by study and time)")
	flags.StringVar(&resume, "resume", "", "go on with this run: its folder or its name")
	flags.BoolVar(&dryly, "dry-run", false, "print the plan and the expected duration, and start nothing; with --json as one object")
	flags.BoolVar(&strict, "strict", false, "look first at what differs between the environments (tare parity), and run nothing where a confound touches a workload")
	show.add(flags)
	show.addListen(flags)
	exclude(command, "resume", "dry-run", "the one goes on with a run that has its plan, the other makes a plan and starts nothing")
	exclude(command, "strict", "dry-run", "the one starts every environment to look at it, the other starts nothing")
	return command
}

// positive refuses a 0 or less that was typed: left out is what means "as the
// study says".
func positive(command *cobra.Command, names ...string) error {
	for _, name := range names {
		flag := command.Flags().Lookup(name)
		if flag.Changed && (flag.Value.String() == "0" || flag.Value.String() == "0s" || strings.HasPrefix(flag.Value.String(), "-")) {
			return badInput("--%s %s: must be more than 0", name, flag.Value)
		}
	}
	return nil
}

func resolve(name string, over study.Overrides) (*study.Plan, error) {
	file, err := study.Load(name)
	if err != nil {
		return nil, badInput("%w", err)
	}
	plan, err := study.Resolve(file, over)
	if err != nil {
		return nil, badInput("%w", err)
	}
	return plan, nil
}

// execute runs a plan and prints what came out.
func execute(ctx context.Context, app *App, o run.Options, show displayFlags) error {
	display := show.display(app)
	o.Events = display.Event
	stop, err := show.serve(app, &o)
	if err != nil {
		return err
	}
	defer stop()
	result, err := run.Execute(ctx, o)
	display.Close()
	if err := outcome(ctx, result, err); err != nil {
		return err
	}
	if !show.json {
		if err := printResult(app, result); err != nil {
			return err
		}
	}
	return status(app, result)
}

// outcome is the error of a run that has no result to print.
func outcome(ctx context.Context, result *run.Result, err error) error {
	var input *run.InputError
	switch {
	case result == nil && ctx.Err() != nil:
		return &ExitError{Status: ExitInterrupted, Err: fmt.Errorf("interrupted before anything was measured")}
	case result == nil && errors.As(err, &input):
		return badInput("%w", err)
	case result == nil:
		return err
	case err != nil:
		return fmt.Errorf("the run is kept in %s: %w", result.Folder, err)
	}
	return nil
}

// status is the exit status of a run that is reported.
func status(app *App, result *run.Result) error {
	switch {
	case result.Interrupted:
		command := "run"
		if len(result.Run.Plan.Steps) > 0 {
			command = "explain"
		}
		return &ExitError{Status: ExitInterrupted, Err: fmt.Errorf("interrupted; go on with `tare %s --resume %s`", command, runName(app, result.Folder))}
	case result.Failed > 0:
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("%d of %d trials failed; the report lists them with their reasons", result.Failed, len(result.Run.Trials))}
	case result.Alone():
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("nothing was compared: of the environments only %s works here; the report says why the others were left out", result.Run.Plan.Baseline)}
	}
	return nil
}

func printResult(app *App, r *run.Result) error {
	var text bytes.Buffer
	if err := report.Terminal(&text, r.ReportInput(), terminalOptions(app.Stdout, false)); err != nil {
		return err
	}
	fmt.Fprintf(app.Stdout, "\n%s\n%s", bytes.TrimRight(text.Bytes(), "\n"), app.ending(r))
	return nil
}

// runName is what the user can type for a run: its name below the home, else
// its folder.
func runName(app *App, folder string) string {
	if filepath.Dir(folder) == run.Runs(app.Home) {
		return filepath.Base(folder)
	}
	return folder
}
