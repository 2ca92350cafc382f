package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/report/text"
	"tare/internal/run"
	"tare/internal/run/progress"
	"tare/internal/rundir"
	"tare/internal/study"
)

type runFlags struct {
	over   study.Overrides
	out    string
	seed   uint64
	resume string
	// orResume goes on with the run in the directory, if there is one.
	orResume bool
	dryRun   bool
	strict   bool
	show     displayFlags
}

func newRunCommand(app *App) *cobra.Command {
	var r runFlags
	command := &cobra.Command{
		Use:   "run STUDY | --resume RUN",
		Short: "Run a study",
		Long: `Run a study: a YAML file, or the name of a built-in study (tare ls studies).

Each block runs every environment once, in random order, so that disturbances of
the machine affect all of them alike. At the end tare prints the verdicts and the
path of the HTML report. --resume continues a run that was interrupted or killed.
With --or-resume the same command line begins a run and continues it, as a program
needs it that is started again after a failure.`,
		Example: `  tare run quick
  tare run ./redis.yaml --budget 5m
  tare run quick --only native,docker,redis --blocks 10
  tare run karna-2021 --scale small
  tare run quick --listen 127.0.0.1:9464
  tare run --resume quick-20261121-014500
  tare run ./redis.yaml --out ./redis-run --or-resume`,
		Args: orResume("study", &r.resume),
		RunE: func(command *cobra.Command, args []string) error {
			return r.run(command, app, args)
		},
	}
	r.add(app, command.Flags())
	exclude(command, "resume", "dry-run", "a resumed run already has its plan")
	exclude(command, "or-resume", "dry-run", "--dry-run starts nothing, and continues nothing")
	exclude(command, "strict", "dry-run", "--strict starts every environment, and --dry-run starts nothing")
	return command
}

// orResume takes either a run to resume or one argument.
func orResume(argument string, resume *string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 || (len(args) == 1) == (*resume != "") {
			return fmt.Errorf("name either a %s or --resume RUN", argument)
		}
		return nil
	}
}

func (r *runFlags) add(app *App, flags *pflag.FlagSet) {
	flags.IntVar(&r.over.Blocks, "blocks", 0, "run exactly this `number` of blocks, and use the interval for a fixed number")
	flags.DurationVar(&r.over.Budget, "budget", 0, "end after this `time` (5m, 1h); it goes to open verdicts")
	flags.IntVar(&r.over.Parallel, "parallel", 0, "let at most this `number` of the study's nodes work at the same time, also of a resumed run")
	flags.StringVar(&r.over.Scale, "scale", "", "run the study at the scale of this `name`, such as small")
	flags.StringSliceVar(&r.over.Only, "only", nil, "run only the environments and workloads of these `names`; the baseline is always kept")
	flags.Uint64Var(&r.seed, "seed", 0, "`seed` of the random order (default: random, and recorded)")
	flags.StringVarP(&r.out, "out", "o", "", "`directory` of the run (default: HOME/runs/STUDY-TIME)")
	flags.StringVar(&r.resume, "resume", "", "continue this `run`, given by its directory or its name")
	flags.BoolVar(&r.orResume, "or-resume", false, "with --out: continue the run in that directory, if there is one of this study")
	flags.BoolVar(&r.dryRun, "dry-run", false, "print the plan and the expected duration, and start nothing")
	flags.BoolVar(&r.strict, "strict", false, "check first what differs between the environments (tare parity); run nothing if a confound affects a workload")
	r.show.add(flags)
	r.show.addListen(flags)
	app.addNoWait(flags)
}

func (r *runFlags) run(command *cobra.Command, app *App, args []string) (err error) {
	o := app.runOptions(nil)
	o.Directory = r.out
	if r.resume != "" {
		if err := checkResume(command); err != nil {
			return err
		}
		if err := positive(command, "parallel"); err != nil {
			return err
		}
		o.Parallel = r.over.Parallel
		if o.Directory, err = findOwnRun(app, r.resume); err != nil {
			return err
		}
	} else {
		if command.Flags().Changed("seed") {
			r.over.Seed = &r.seed
		}
		if err := positive(command, "blocks", "budget", "parallel"); err != nil {
			return err
		}
		if o.Plan, err = resolve(args[0], r.over); err != nil {
			return err
		}
		if err := r.takeUp(app, &o); err != nil {
			return err
		}
		if r.dryRun {
			o.Plan.Remarks = append(o.Plan.Remarks, absentImages(command.Context(), o.Plan)...)
			return printDryRun(app, o.Plan, r.show.json, printPlan)
		}
		if o.Plan != nil {
			if err := warnOfLongRun(app, o.Plan, r.show); err != nil {
				return err
			}
		}
	}
	if r.strict {
		if err := refuseUnfair(command.Context(), app, o); err != nil {
			return err
		}
	}
	return execute(command.Context(), app, o, r.show)
}

// takeUp goes on with the run that is in the directory, with --or-resume. Its own plan
// applies; that of another study is refused, since its trials would pass for this one's.
func (r *runFlags) takeUp(app *App, o *run.Options) error {
	if !r.orResume {
		return nil
	}
	if o.Directory == "" {
		return badInput("--or-resume needs --out: the directory of the run")
	}
	if !rundir.Begun(o.Directory) {
		return nil
	}
	begun, err := rundir.Open(o.Directory)
	if err != nil {
		return err
	}
	if err := app.checkOwner(o.Directory); err != nil {
		return err
	}
	if !o.Plan.Same(begun.Plan) {
		return badInput("--or-resume: the run in %s has another plan than this study: continue it with `tare run --resume %[1]s`, or choose another directory with --out", o.Directory)
	}
	app.say("continuing the run in %s", o.Directory)
	o.Plan = nil
	return nil
}

// positive refuses 0 and negative values: leaving the flag out means the default.
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
	plan, err := study.Open(name, over)
	if err != nil {
		return nil, badInput("%w", err)
	}
	return plan, nil
}

// execute runs a plan and prints its result.
func execute(ctx context.Context, app *App, o run.Options, show displayFlags) error {
	result, err := executeShown(ctx, app, &o, show, show.display(app))
	if err != nil {
		return err
	}
	switch {
	case show.json && show.quiet:
		err = printJSON(app.Stdout, runDocument(result.ReportInput()))
	case !show.json:
		err = printResult(app, result)
	}
	if err != nil {
		return err
	}
	return status(app, result)
}

// executeShown runs a plan with its progress on the display. The error is that
// of a run without a result to print.
func executeShown(ctx context.Context, app *App, o *run.Options, show displayFlags, display progress.Display) (*run.Result, error) {
	what := o.Directory
	if what == "" {
		what = o.Plan.Name
	}
	err := run.Check(*o)
	if err == nil {
		err = app.alone(ctx, what)
	}
	if err != nil {
		display.Close()
		return nil, inputError(err)
	}
	if o.Events == nil {
		o.Events = display.Event
	}
	o.Events = app.telling(o.Events)
	stop, err := show.serve(app, o)
	if err != nil {
		return nil, err
	}
	defer stop()
	result, err := run.Execute(ctx, *o)
	display.Close()
	return result, outcome(ctx, result, err)
}

// outcome is the error of a run that has no result to print.
func outcome(ctx context.Context, result *run.Result, err error) error {
	switch {
	case result == nil && ctx.Err() != nil:
		return &ExitError{Status: ExitInterrupted, Err: errors.New("interrupted before anything was measured")}
	case result == nil:
		return inputError(err)
	case err != nil:
		return fmt.Errorf("the run is in %s: %w", result.Directory, err)
	}
	return nil
}

// status is the exit status of a run that was reported.
func status(app *App, result *run.Result) error {
	switch {
	case result.Interrupted:
		command := "run"
		if len(result.Run.Plan.Steps) > 0 {
			command = "explain"
		}
		return &ExitError{Status: ExitInterrupted, Err: fmt.Errorf("interrupted; continue with `tare %s --resume %s`", command, run.Name(app.Home, result.Directory))}
	case result.Failed > 0:
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("%d of %d trials failed; the report lists them with their reasons", result.Failed, len(result.Run.Trials))}
	case !slices.ContainsFunc(slices.Concat(result.Run.Trials, result.Run.Traced), func(t rundir.Trial) bool { return t.Status == rundir.OK }):
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("nothing was measured: %s", result.Stopped)}
	case result.Alone():
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("nothing was compared: only the environment %s works here; the report says why the others do not", result.Run.Plan.Baseline)}
	}
	return nil
}

func printResult(app *App, r *run.Result) error {
	var verdicts bytes.Buffer
	in := r.ReportInput()
	in.Explained = app.explained(in)
	if err := text.Write(&verdicts, in, terminalOptions(app.Stdout, false)); err != nil {
		return err
	}
	fmt.Fprintf(app.Stdout, "\n%s\n%s", bytes.TrimRight(verdicts.Bytes(), "\n"), app.ending(r))
	return nil
}
