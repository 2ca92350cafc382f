package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/run/selftest"
	"tare/internal/study"
)

func newSelftestCommand(app *App) *cobra.Command {
	var (
		o    selftest.Options
		out  string
		show displayFlags
	)
	command := &cobra.Command{
		Use:   "selftest [flags]",
		Short: "Check the verdicts on this machine by known effects",
		Long: `Compare environments with themselves under known effects: no effect, an exactly
counted amount of more work, a smaller CPU quota, and a delay of each request. tare
repeats whole runs with alternating samples until the time is over and counts false
alarms, intervals that hold the truth, effects that were found, and the time to a
verdict. The usual practice sees the same minutes: all samples of A, then all of B,
Welch's t-test.

Exit status:
  0    success, whatever the table says
  2    invalid flag; nothing was started
  3    some trials failed, or an environment does not work here
  130  interrupted; the table has what was measured`,
		Example: `  tare selftest
  tare selftest --environment docker --environment gvisor --time 30m
  tare selftest --effects 0,0,0,0,0,0 --time 1h`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := positive(command, "time", "sample", "cycle"); err != nil {
				return err
			}
			o.Run = app.runOptions(nil)
			o.Run.Directory = out
			return runSelftest(command.Context(), app, o, show)
		},
	}
	flags := command.Flags()
	flags.DurationVar(&o.Time, "time", 5*time.Minute, "`time` for all measurements, after the image is ready")
	flags.DurationVar(&o.Cycle, "cycle", selftest.DefaultCycle, "`time` of a run and of the usual practice beside it, at most")
	flags.BoolVar(&o.NoUsual, "no-usual", false, "leave out the usual practice, which takes half of the time")
	flags.StringArrayVarP(&o.Environments, "environment", "e", []string{"native"}, "`environment` to test, NAME or NAME+OPTION=VALUE...; can be repeated")
	flags.StringSliceVar(&o.Effects, "effects", selftest.DefaultEffects, "known `effects`: more work in percent, quota or delay; one that is repeated is tested several times")
	flags.StringVar(&o.Margin, "margin", study.DefaultMargin.String(), "differences within this `share` count as equivalent")
	flags.DurationVar(&o.Sample, "sample", selftest.DefaultSample, "`length` of a sample")
	flags.StringVarP(&out, "out", "o", "", "keep all runs below this `directory`")
	flags.BoolVarP(&show.quiet, "quiet", "q", false, "print only the result")
	app.addNoWait(flags)
	flags.BoolVar(&show.json, "json", false, "print the result as JSON")
	return command
}

func runSelftest(ctx context.Context, app *App, o selftest.Options, show displayFlags) error {
	test, err := selftest.New(o)
	if err != nil {
		return badInput("%w", err)
	}
	if err := app.alone(ctx, "selftest"); err != nil {
		return err
	}
	if !show.quiet {
		if remark := test.Remark(); remark != "" {
			app.say("%s", remark)
		}
	}
	display := displayFlags{quiet: show.quiet}.display(app)
	result, err := test.Run(ctx, display.Event)
	display.Close()
	if err != nil && len(result.Rows) == 0 {
		return inputError(err)
	}
	if show.json {
		if err := printJSON(app.Stdout, result); err != nil {
			return err
		}
	} else {
		var text bytes.Buffer
		result.Text(&text)
		fmt.Fprintf(app.Stdout, "%s", text.Bytes())
	}
	switch {
	case err != nil:
		return err
	case result.Interrupted:
		return &ExitError{Status: ExitInterrupted, Err: errors.New("interrupted; the table has what was measured until then")}
	case result.Failed > 0:
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("%d of %d trials failed", result.Failed, result.Trials)}
	case len(result.Skipped) > 0:
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("%s does not work here: it %s", result.Skipped[0].Environment, result.Skipped[0].Reason)}
	}
	return nil
}
