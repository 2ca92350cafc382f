package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/environment"
	"tare/internal/parity"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
)

func newParityCommand(app *App) *cobra.Command {
	var (
		over      study.Overrides
		workloads []string
		all       bool
		asJSON    bool
		strict    bool
	)
	command := &cobra.Command{
		Use:   "parity STUDY|RUN",
		Short: "What differs between environments besides the isolation layer",
		Long: `What differs between each environment of a study and its baseline, in three
classes: inherent in the layer, chosen by the study, or neither, a confound, with
its likely effect and how to be rid of it.

STUDY is a file or a built-in study's name: each environment is started once with
each workload at its first level, looked at while the servers are up, and nothing
is measured. RUN is a run that there is already, and what it found is shown.

Exit status: 0, 2 for a mistake in the study or a flag, 3 where an environment
could not be looked at or does not work here, 4 with --strict where there is a
confound.`,
		Example: `  tare parity quick --only native,docker
  tare parity heino-2025 --scale small --workload nginx --all
  tare parity quick-20261121-014500 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			r, err := fingerprinted(command.Context(), app, args[0], over, workloads)
			if err != nil {
				return err
			}
			named := slices.Concat(over.Only, workloads)
			compared := report.Judge(r).All()
			some := len(compared) > 0
			compared = slices.DeleteFunc(compared, func(c parity.Comparison) bool { return !concerns(r.Plan, named, c) })
			if some && len(compared) == 0 && len(absent(r, named)) == 0 {
				return badInput("%s compares nothing that is only of %s", args[0], strings.Join(named, ", "))
			}
			if asJSON {
				err = printJSON(app.Stdout, struct {
					Comparisons  []parity.Comparison  `json:"comparisons"`
					Fingerprints []parity.Fingerprint `json:"fingerprints"`
				}{compared, r.Fingerprints})
			} else {
				err = report.Fairness(app.Stdout, parity.Summarize(compared), terminalOptions(app.Stdout, all))
			}
			if err != nil {
				return err
			}
			if strict {
				if err := confounded(compared); err != nil {
					return &ExitError{Status: ExitConfounded, Err: err}
				}
			}
			return left(r, compared, over.Only)
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&over.Only, "only", nil, "only these environments and workloads; the baseline always stays")
	flags.StringVar(&over.Scale, "scale", "", "the study in one of the sizes that it brings, such as small")
	flags.StringSliceVar(&workloads, "workload", nil, "only these workloads")
	flags.BoolVar(&all, "all", false, "every fact, also of what is inherent and of what could not be compared")
	flags.BoolVar(&asJSON, "json", false, "print as JSON")
	flags.BoolVar(&strict, "strict", false, "exit status 4 where a confound touches a workload")
	return command
}

// fingerprinted is a run with fingerprints: one that there is, or one that is
// made of a study for them alone.
func fingerprinted(ctx context.Context, app *App, name string, over study.Overrides, workloads []string) (*rundir.Run, error) {
	if folder, err := runFolder(app, name); err == nil {
		r, err := openRun(app, folder)
		if err != nil {
			return nil, err
		}
		if over.Scale != "" {
			return nil, badInput("--scale %s: %s is a run, which has the size that it was made in; --scale is for `tare parity STUDY`", over.Scale, name)
		}
		if err := r.Plan.Knows(slices.Concat(over.Only, workloads)); err != nil {
			return nil, badInput("%w", err)
		}
		if len(r.Fingerprints) == 0 {
			return nil, badInput("%s has no fingerprints: it was made by a tare that took none, or is imported; `tare parity STUDY` takes them", name)
		}
		return r, nil
	}
	over.Only = slices.Concat(over.Only, workloads)
	plan, err := resolve(name, over)
	if err != nil {
		return nil, err
	}
	return take(ctx, app, plan)
}

// take takes the fingerprints of a plan, with its progress on the standard error.
func take(ctx context.Context, app *App, plan *study.Plan) (*rundir.Run, error) {
	display := displayFlags{}.display(app)
	r, err := run.Fingerprints(ctx, run.Options{Home: app.Home, Version: app.Version, Command: app.Args, Plan: plan, Events: display.Event})
	display.Close()
	var input *run.InputError
	switch {
	case ctx.Err() != nil:
		return nil, &ExitError{Status: ExitInterrupted, Err: errors.New("interrupted; nothing was measured")}
	case errors.As(err, &input):
		return nil, badInput("%w", err)
	}
	return r, err
}

// concerns says whether a comparison is among what was named: environments,
// where any was, and workloads, where any was.
func concerns(plan *study.Plan, named []string, c parity.Comparison) bool {
	is := func(name string) bool { return slices.Contains(named, name) }
	environments := slices.ContainsFunc(plan.Environments, func(e study.Environment) bool { return is(e.Name) })
	workloads := slices.ContainsFunc(plan.Workloads, func(w study.Workload) bool { return is(w.Name) })
	return (!environments || is(c.Environment)) && (!workloads || is(c.Workload))
}

// refuseUnfair takes the fingerprints of what is to be run, and refuses it where
// a confound touches a workload.
func refuseUnfair(ctx context.Context, app *App, o run.Options) error {
	plan := o.Plan
	if plan == nil {
		r, err := openRun(app, o.Folder)
		if err != nil {
			return err
		}
		plan = r.Plan
	}
	r, err := take(ctx, app, plan)
	if err != nil {
		return err
	}
	compared := report.Judge(r).All()
	if err := confounded(compared); err != nil {
		var text bytes.Buffer
		if err := report.Fairness(&text, parity.Summarize(compared), terminalOptions(app.Stdout, false)); err != nil {
			return err
		}
		fmt.Fprintf(app.Stdout, "%s\n", text.Bytes())
		return &ExitError{Status: ExitConfounded, Err: fmt.Errorf("%w: nothing was run; remove what is listed, or run without --strict", err)}
	}
	return unlooked(r, compared)
}

// confounded is an error that names the confounds; nil where there are none.
func confounded(compared []parity.Comparison) error {
	var parts []string
	for _, s := range parity.Summarize(compared) {
		var names []string
		for _, c := range s.Confounds {
			names = append(names, c.Finding.Finding)
		}
		if len(names) > 0 {
			parts = append(parts, s.Environment+": "+strings.Join(names, ", "))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return fmt.Errorf("not fair: %s", strings.Join(parts, "; "))
}

// unlooked is an error that names the environments that have no fingerprint under
// some workload, which is then not compared; nil where all have one.
func unlooked(r *rundir.Run, compared []parity.Comparison) error {
	var names []string
	for _, e := range r.Plan.Environments {
		for _, f := range r.Manifest.Environments[e.Name].Findings {
			if f.What == run.NoFingerprint && !slices.Contains(names, e.Name) {
				names = append(names, e.Name)
			}
		}
	}
	if len(names) == 0 && len(compared) > 0 {
		return nil
	}
	if len(names) == 0 {
		return &ExitError{Status: ExitSomeFailed, Err: errors.New("nothing was compared: only one environment works here; tare doctor says what the others need")}
	}
	return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("could not be looked at under every workload: %s; the reasons are above", strings.Join(names, ", "))}
}

// left is an error that names the environments that are not in a comparison: they
// could not be looked at, or do not work here; nil where all are.
func left(r *rundir.Run, compared []parity.Comparison, only []string) error {
	if err := unlooked(r, compared); err != nil {
		return err
	}
	names := absent(r, only)
	if len(names) == 0 {
		return nil
	}
	return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("not looked at, as it does not work here: %s", strings.Join(names, "; "))}
}

// absent are the environments, of those named where any was, that do not work
// here, with the reason.
func absent(r *rundir.Run, only []string) (names []string) {
	some := slices.ContainsFunc(r.Plan.Environments, func(e study.Environment) bool { return slices.Contains(only, e.Name) })
	for _, e := range r.Plan.Environments {
		facts := r.Manifest.Environments[e.Name]
		if facts.State == environment.Missing && (!some || slices.Contains(only, e.Name)) {
			names = append(names, e.Name+" "+run.Why(facts))
		}
	}
	return names
}
