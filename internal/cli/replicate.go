package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/base/lists"
	"tare/internal/papers/published"
	"tare/internal/report"
	"tare/internal/report/model"
	"tare/internal/report/text"
	"tare/internal/run"
	"tare/internal/study"
)

type replicateFlags struct {
	time  time.Duration
	scale string
	out   string
	show  displayFlags
}

func newReplicateCommand(app *App) *cobra.Command {
	r := replicateFlags{time: 30 * time.Minute}
	command := &cobra.Command{
		Use:   "replicate SOURCE [RUN...]",
		Short: "Measure a published study again, and judge its claims",
		Long: `Run the built-in studies of a publication, and judge each of its claims by what they
measured: it holds here, does not, is undecided, or cannot be asked here, with the
reason. Printed sizes are of the source's machine, so that a claim about a size holds
where its direction does. With runs of these studies, nothing is run.

Each study runs as it was written if its first intervals can be had in its part of the
time, and else at the largest of its scales where they can.

The page with the claims, the printed ratios beside the measured ones, and the whole
report is replication.html in the directory of the first run.`,
		Example: `  tare replicate karna-2021
  tare replicate heino-2025 --time 2h
  tare replicate karna-2021 karna-2021-small-20261121-014500`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			source, err := published.Builtin(args[0])
			if err != nil {
				return badInput("%w", err)
			}
			if err := positive(command, "time"); err != nil {
				return err
			}
			var runs []model.Input
			if len(args) > 1 {
				for _, name := range args[1:] {
					in, err := openReport(app, name)
					if err != nil {
						return err
					}
					runs = append(runs, in)
				}
			} else if runs, err = r.measure(command, app, source); err != nil {
				return err
			}
			return r.judge(app, source, runs)
		},
	}
	flags := command.Flags()
	flags.DurationVar(&r.time, "time", r.time, "measure for this `time` in all, after the preparation")
	flags.StringVar(&r.scale, "scale", r.scale, "run the studies at the scale of this `name`; \"\" for that of the source (default: what fits the time)")
	flags.StringVarP(&r.out, "out", "o", "", "`file` of the page (default: replication.html in the directory of the first run)")
	r.show.add(flags)
	app.addNoWait(flags)
	return command
}

// measure runs the studies of the source that a printed ratio is about. Each has an equal
// part of the time.
func (r *replicateFlags) measure(command *cobra.Command, app *App, source *published.Study) (runs []model.Input, err error) {
	studies := lists.Filter(source.Studies, func(s published.Repeated) bool { return s.Gap == "" })
	for _, s := range studies {
		o, part := app.runOptions(nil), r.time/time.Duration(len(studies))
		if command.Flags().Changed("scale") {
			o.Plan, err = resolve(s.Study, study.Overrides{Scale: r.scale, Budget: part})
		} else {
			o.Plan, err = fitting(app, s.Study, part)
		}
		if err != nil {
			return nil, err
		}
		result, err := executeShown(command.Context(), app, &o, r.show, r.show.display(app))
		if err != nil {
			return nil, err
		}
		app.say("%s", app.ending(result))
		if result.Interrupted {
			return nil, status(app, result)
		}
		runs = append(runs, result.ReportInput())
	}
	return runs, nil
}

// fitting is a study as it was written if that fits a time, else at the first of its scales
// that does; where none does, at the one that takes the least.
func fitting(app *App, name string, within time.Duration) (chosen *study.Plan, err error) {
	var took, asWritten time.Duration
	scales := []string{""}
	for n := 0; n < len(scales); n++ {
		plan, err := resolve(name, study.Overrides{Scale: scales[n], Budget: within})
		if err != nil {
			return nil, err
		}
		least, err := run.LeastTime(plan)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			asWritten, scales = least, append(scales, plan.Scales...)
		}
		if chosen == nil || least < took {
			chosen, took = plan, least
		}
		if took <= within {
			break
		}
	}
	switch {
	case took > within:
		app.say("%s takes at least %s at every scale, and has %s: expect few intervals, or give it more --time", name, run.About(took), run.About(within))
	case chosen.Scale != "":
		app.say("%s runs at scale %s: as it was written it takes at least %s, and it has %s", name, chosen.Scale, run.About(asWritten), run.About(within))
	}
	return chosen, nil
}

// judge prints the claims, and writes the page.
func (r *replicateFlags) judge(app *App, source *published.Study, runs []model.Input) error {
	in := runs[0]
	in.Against = model.ComparePublished(source, runs...)
	in.Figures = model.FiguresOf(source, runs...)
	if r.show.json {
		return printJSON(app.Stdout, in.Against.Claims)
	}
	if err := text.WriteClaims(app.Stdout, in, terminalOptions(app.Stdout, false)); err != nil {
		return err
	}
	format, _ := report.Find("html")
	format.File = "replication.html"
	if err := writeReport(app, in, format, r.out, false); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
