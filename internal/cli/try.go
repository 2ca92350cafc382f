package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/application/secret"
	"tare/internal/author/bench"
	"tare/internal/author/try"
	"tare/internal/base/bounded"
	"tare/internal/base/term"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/prices"
	"tare/internal/report/text"
	"tare/internal/run"
	"tare/internal/run/doctor"
	"tare/internal/run/progress"
)

type tryFlags struct {
	options try.Options
	out     string
	seed    uint64
	save    string
	secrets []string
	dryRun  bool
	show    displayFlags
}

func newTryCommand(app *App) *cobra.Command {
	var f tryFlags
	command := &cobra.Command{
		Use:   "try [flags] IMAGE [-- ARGUMENTS...]",
		Short: "Measure an image's own server or job in several environments",
		Long: `Measure what isolation costs the server or the job of an image.

The image is started once, as its metadata says. Where it answers, and whether that
is HTTP, Redis, PostgreSQL or MySQL, decides the load; an image whose command ends
by itself is a job. Then the environments alternate until every figure has a verdict,
or the budget is over. What was guessed is printed, with the flag that changes it.

IMAGE is docker-daemon:NAME, tar:FILE, oci:DIRECTORY or, from a registry, NAME:TAG.
ARGUMENTS take the place of those that the image says, as in docker run.

An environment is NAME or NAME+OPTION=VALUE..., such as docker+network=host. The first
is the baseline. Default: native, without isolation, docker and gvisor.

Loads: http, redis, postgres, mysql; tcp measures the start alone, and job the time
that the image's command takes; or the file of a pack of your own.`,
		Example: `  tare try docker-daemon:my-api:1.4
  tare try tar:api.tar --url /health --save study.yaml
  tare try postgres:17 --env-var POSTGRES_PASSWORD=tare --env docker,gvisor`,
		Args: func(command *cobra.Command, args []string) error {
			if at := command.ArgsLenAtDash(); at == 0 {
				return errors.New("the image is missing: its name is before --")
			} else if at > 0 {
				args = args[:at]
			}
			return cobra.ExactArgs(1)(command, args)
		},
		RunE: func(command *cobra.Command, args []string) error {
			f.options.Image, f.options.Arguments = args[0], args[1:]
			return f.try(command, app)
		},
	}
	o, flags := &f.options, command.Flags()
	flags.StringSliceVarP(&o.Environments, "env", "e", nil, "`environments`; the first is the baseline (default: native, docker and gvisor, if they work)")
	f.addImage(flags)
	flags.DurationVar(&o.Budget, "budget", try.DefaultBudget, "end after this `time`")
	flags.StringVar(&o.Margin, "margin", try.DefaultMargin, "differences within this `share` count as equivalent")
	flags.Uint64Var(&f.seed, "seed", 0, "`seed` of the random order (default: random, and recorded)")
	flags.StringVar(&f.save, "save", "", "write the study to this `file`, which `tare run` takes")
	flags.BoolVar(&f.dryRun, "dry-run", false, "start the image once, and print the plan")
	flags.StringVarP(&f.out, "out", "o", "", "`directory` of the run (default: HOME/runs/try-NAME-TIME)")
	f.show.add(flags)
	f.show.addListen(flags)
	app.addNoWait(flags)
	return command
}

// addImage adds the flags about the image and its load.
func (f *tryFlags) addImage(flags *pflag.FlagSet) {
	o := &f.options
	flags.StringVar(&o.Load, "load", "", "the load, `one` of "+strings.Join(try.Loads(), ", ")+", or the file of a pack, ./PACK.yaml (default: what fits the answer)")
	flags.IntVar(&o.Port, "port", 0, "the server's `port` (default: one that the image exposes, or at which it listens)")
	flags.StringVar(&o.URL, "url", "", "the `page` to ask for: /PATH or http://localhost:PORT/PATH (default: that of the health check, or /)")
	flags.StringArrayVar(&o.Env, "env-var", nil, "environment variable of the image's command, `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f.secrets, "secret", nil, "environment `variable` of the image's command with a secret value: NAME has that of tare's own, NAME=FILE that of a file; may be repeated")
	flags.DurationVar(&o.Wait, "wait", try.DefaultWait, "how much `time` the image has to answer, or a job to end, when it is started first")
}

// imageFlags are those that addImage adds.
var imageFlags = []string{"load", "port", "url", "env-var", "secret", "wait"}

func (f *tryFlags) try(command *cobra.Command, app *App) error {
	ctx := command.Context()
	if err := positive(command, "budget", "wait", "port"); err != nil {
		return err
	}
	if err := notWritable("--save", f.save); err != nil {
		return err
	}
	if command.Flags().Changed("seed") {
		f.options.Seed = &f.seed
	}
	if len(f.options.Environments) == 0 {
		f.options.Environments = bench.Available(ctx, try.DefaultEnvironments)
	}
	display := &once{Display: f.show.display(app), seen: map[string]bool{}}
	made, err := f.visit(ctx, app, display)
	if err != nil {
		return err
	}
	if f.save != "" {
		if err := saveStudy(app, f.save, made); err != nil {
			return fmt.Errorf("--save %s: %w", f.save, bounded.Cause(err))
		}
	}
	if f.dryRun {
		if err := printDryRun(app, made.Plan, f.show.json, printPlan); err != nil || f.show.json {
			return err
		}
		printGuesses(app, made)
		return nil
	}
	// What an operation asks of the kernel, for what the price list explains of it.
	if _, err := prices.Load(prices.File(app.Home), doctor.Machine()); err == nil {
		made.Plan.Sampling.Traced = 1
	}
	o := app.runOptions(made.Plan)
	o.Directory = f.out
	result, err := executeShown(ctx, app, &o, f.show, display)
	if err != nil {
		return err
	}
	if f.show.json {
		explained, without := gaps(app, result.Run)
		if err := f.show.document(app.Stdout, map[string]any{"guesses": made.Guesses, "contrasts": result.Contrasts, "gaps": explained, "without_gap": without}); err != nil {
			return err
		}
		return status(app, result)
	}
	var table bytes.Buffer
	if err := text.WriteColumns(&table, result.ReportInput(), try.Figure, terminalOptions(app.Stdout, false)); err != nil {
		return err
	}
	fmt.Fprintf(app.Stdout, "\n%s\n", bytes.TrimRight(table.Bytes(), "\n"))
	if open := f.options.Undecided(result.Contrasts); open != "" && !result.Interrupted {
		fmt.Fprintf(app.Stdout, "\n%s", term.Prose(open, terminalOptions(app.Stdout, false).Width))
	}
	printGaps(app, result.Run)
	printGuesses(app, made)
	fmt.Fprintf(app.Stdout, "\n%s", app.whereabouts(result))
	return status(app, result)
}

// saveStudy writes the study, for its user alone if a value in it may be a password.
func saveStudy(app *App, path string, s *try.Study) error {
	if !s.Private {
		return writeFile(path, s.YAML)
	}
	app.say("%s: only its owner can read it, since it has values of environment variables", path)
	return writeWith(path, s.YAML, 0o600)
}

// visit starts the image once, and returns the study that fits it.
func (f *tryFlags) visit(ctx context.Context, app *App, display progress.Display) (made *try.Study, err error) {
	for _, text := range f.secrets {
		source, err := secret.Parse(text)
		if err != nil {
			return nil, badInput("--secret %s: %w", text, err)
		}
		f.options.Secrets = append(f.options.Secrets, source)
	}
	if err := f.options.Check(); err != nil {
		return nil, badInput("%w", err)
	}
	plan, err := f.options.Visit()
	if err != nil {
		return nil, badInput("%w", err)
	}
	o := app.runOptions(plan)
	o.Events = display.Event
	check := o
	check.Directory = f.out
	if err = run.Check(check); err == nil {
		err = app.alone(ctx, plan.Name)
	}
	if err == nil {
		err = run.Visit(ctx, o, func(ctx context.Context, img *image.Image, i environment.Instance, secrets []string) error {
			made, err = f.options.Look(ctx, img, i, secrets)
			return err
		})
	}
	if err == nil {
		return made, nil
	}
	display.Close()
	return nil, outcome(ctx, nil, err)
}

// once shows each remark once: those on the image are the same for the visit and the run.
type once struct {
	progress.Display
	seen map[string]bool
}

func (d *once) Event(e run.Event) {
	if e.Kind == run.Noted && d.seen[e.Message] {
		return
	}
	d.seen[e.Message] = e.Kind == run.Noted
	d.Display.Event(e)
}

func printGuesses(app *App, made *try.Study) {
	if len(made.Guesses) == 0 {
		return
	}
	fmt.Fprintf(app.Stdout, "\nguessed:\n")
	for _, g := range made.Guesses {
		lines := term.Wrap(g.String(), terminalOptions(app.Stdout, false).Width-4)
		fmt.Fprintf(app.Stdout, "  %s\n", strings.Join(lines, "\n    "))
	}
}
