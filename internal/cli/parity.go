package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/parity"
	"tare/internal/parity/evaluate"
	"tare/internal/report/model"
	"tare/internal/report/text"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/rundir/archive"
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
		Short: "Show what differs between environments besides the isolation layer",
		Long: `Show what differs between each environment of a study and its baseline, in three
classes: inherent in the layer, chosen by the study, or a confound, with its likely
effect and how to remove it.

STUDY is a file or the name of a built-in study: tare starts each environment once
with each workload at its first level and takes fingerprints while the servers are
up. Nothing is measured. RUN is an existing run, whose fingerprints are shown.`,
		Example: `  tare parity quick --only native,docker
  tare parity heino-2025 --scale small --workload nginx --all
  tare parity quick-20261121-014500 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			r, unobserved, err := fingerprinted(command.Context(), app, args[0], over, workloads)
			if err != nil {
				return err
			}
			named := slices.Concat(over.Only, workloads)
			fair := model.Fairness(r)
			compared, across := fair.All(), fair.Nodes()
			some := len(compared) > 0
			compared = evaluate.Only(r.Plan, named, compared)
			if some && len(compared) == 0 && len(run.Absent(r, named)) == 0 {
				return badInput("%s has no comparison of %s alone", args[0], strings.Join(named, ", "))
			}
			if asJSON {
				err = printJSON(app.Stdout, struct {
					Comparisons  []parity.Comparison  `json:"comparisons"`
					Nodes        parity.Nodes         `json:"nodes,omitzero"`
					Fingerprints []parity.Fingerprint `json:"fingerprints"`
				}{compared, across, r.Fingerprints})
			} else {
				err = text.WriteFairness(app.Stdout, parity.Summarize(compared), across, terminalOptions(app.Stdout, all))
			}
			if err != nil {
				return err
			}
			if strict {
				if err := parity.Unfair(compared); err != nil {
					return &ExitError{Status: ExitConfounded, Err: err}
				}
			}
			return incomplete(r, unobserved, compared, over.Only)
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&over.Only, "only", nil, "show only the environments and workloads of these `names`; the baseline is always kept")
	flags.StringVar(&over.Scale, "scale", "", "use the study at the scale of this `name`, such as small")
	flags.StringSliceVar(&workloads, "workload", nil, "show only the workloads of these `names`")
	flags.BoolVar(&all, "all", false, "show every fact, including inherent ones and those that were not compared")
	flags.BoolVar(&asJSON, "json", false, "print as JSON")
	app.addNoWait(flags)
	flags.BoolVar(&strict, "strict", false, "exit with status 4 if a confound affects a workload")
	return command
}

// fingerprinted is a run with fingerprints: an existing one, or one of a study that
// takes only fingerprints, with the environments that have none under some workload.
func fingerprinted(ctx context.Context, app *App, name string, over study.Overrides, workloads []string) (r *rundir.Run, unobserved []string, err error) {
	if directory, err := app.find(name); err == nil || archive.Is(name) {
		if err != nil {
			return nil, nil, err
		}
		r, err := openRun(app, directory)
		if err != nil {
			return nil, nil, err
		}
		if over.Scale != "" {
			return nil, nil, badInput("--scale %s: %s is a run, whose scale is fixed; use --scale with `tare parity STUDY`", over.Scale, name)
		}
		if err := r.Plan.Knows(slices.Concat(over.Only, workloads)); err != nil {
			return nil, nil, badInput("%w", err)
		}
		if len(r.Fingerprints) == 0 {
			return nil, nil, badInput("%s has no fingerprints: it was imported, or made by a version without them; `tare parity STUDY` takes them", name)
		}
		return r, nil, nil
	}
	over.Only = slices.Concat(over.Only, workloads)
	plan, err := resolve(name, over)
	if err != nil {
		return nil, nil, err
	}
	return take(ctx, app, plan)
}

// take takes the fingerprints of a plan and shows its progress on stderr.
func take(ctx context.Context, app *App, plan *study.Plan) (r *rundir.Run, unobserved []string, err error) {
	o := app.runOptions(plan)
	if err := run.Check(o); err != nil {
		return nil, nil, inputError(err)
	}
	if err := app.alone(ctx, plan.Name); err != nil {
		return nil, nil, err
	}
	display := displayFlags{}.display(app)
	o.Events = display.Event
	r, unobserved, err = run.Fingerprints(ctx, o)
	display.Close()
	if ctx.Err() != nil {
		return nil, nil, &ExitError{Status: ExitInterrupted, Err: errors.New("interrupted; nothing was measured")}
	}
	return r, unobserved, inputError(err)
}

// refuseUnfair takes fingerprints before a run, and refuses the run if a confound
// affects a workload.
func refuseUnfair(ctx context.Context, app *App, o run.Options) error {
	plan := o.Plan
	if plan == nil {
		r, err := openRun(app, o.Directory)
		if err != nil {
			return err
		}
		plan = r.Plan
	}
	r, unobserved, err := take(ctx, app, plan)
	if err != nil {
		return err
	}
	compared := model.Fairness(r).All()
	if err := parity.Unfair(compared); err != nil {
		var differences bytes.Buffer
		if err := text.WriteFairness(&differences, parity.Summarize(compared), parity.Nodes{}, terminalOptions(app.Stdout, false)); err != nil {
			return err
		}
		fmt.Fprintf(app.Stdout, "%s\n", differences.Bytes())
		return &ExitError{Status: ExitConfounded, Err: fmt.Errorf("%w; nothing was run: remove the confounds, or run without --strict", err)}
	}
	if err := run.Unobserved(r, unobserved, compared); err != nil {
		return &ExitError{Status: ExitSomeFailed, Err: err}
	}
	return nil
}

// incomplete is the error of a comparison that lacks environments: those without
// a fingerprint, and those that do not work here.
func incomplete(r *rundir.Run, unobserved []string, compared []parity.Comparison, only []string) error {
	err := run.Unobserved(r, unobserved, compared)
	if names := run.Absent(r, only); err == nil && len(names) > 0 {
		err = fmt.Errorf("not compared, since it does not work here: %s", strings.Join(names, "; "))
	}
	if err == nil {
		return nil
	}
	return &ExitError{Status: ExitSomeFailed, Err: err}
}
