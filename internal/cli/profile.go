package cli

import (
	"bytes"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/prices"
	"tare/internal/report/model"
	"tare/internal/run/doctor"
	"tare/internal/rundir"
)

type profileFlags struct {
	request prices.Request
	file    string
	from    string
	out     string
	seed    uint64
	show    displayFlags
}

func newProfileCommand(app *App) *cobra.Command {
	var p profileFlags
	command := &cobra.Command{
		Use:   "profile WORKLOAD [flags] | --study STUDY | --run RUN",
		Short: "Count what an operation asks of the kernel, and predict what it costs elsewhere",
		Long: `Count natively what one operation of a workload asks of the kernel, in the kinds of
tare prices: reads and writes by what they go to and by size, files opened, waits,
threads, page faults. Where there is a price list of this machine, counts times prices
predict what each environment of the list adds to the CPU time of an operation, with an
interval and the largest items first.

The runs alternate with uncounted ones, which show what counting costs. With --measure,
they alternate with other environments too, and what these add is shown beside the
prediction.

WORKLOAD is the name or the file of a pack; with --study, the study's name for it, and
without one, all that count operations. For an image:
  tare try IMAGE --dry-run --save study.yaml && tare profile --study study.yaml`,
		Example: `  tare profile redis
  tare profile nginx --measure docker,gvisor
  tare profile --study study.yaml
  tare profile --run profile-redis-20261128-041500 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (p.from != "") && (p.request.Study == "" || p.from != "") {
				return errors.New("name either a workload, or --study STUDY, or --run RUN")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			if p.from != "" {
				r, err := openRun(app, p.from)
				if err != nil {
					return err
				}
				return p.print(app, r)
			}
			if len(args) > 0 {
				p.request.Workload = args[0]
			}
			return p.take(command, app)
		},
	}
	flags := command.Flags()
	flags.StringVar(&p.request.Study, "study", "", "take workload, limits and image from this `study`, a file or a built-in name")
	flags.StringArrayVar(&p.request.Set, "set", nil, "set a parameter of the workload, `NAME=VALUE`")
	flags.StringSliceVar(&p.request.Limits, "limits", nil, "`limits` of all environments: cpus=1,memory=512MiB,pids=100")
	flags.StringSliceVar(&p.request.Measure, "measure", nil, "measure these `environments` too, and show what they add beside the prediction")
	flags.IntVar(&p.request.Overrides.Blocks, "blocks", 6, "run this `number` of blocks")
	flags.DurationVar(&p.request.Overrides.Budget, "budget", 0, "end after this `time` (5m, 1h)")
	flags.Uint64Var(&p.seed, "seed", 0, "`seed` of the random order (default: random, and recorded)")
	flags.StringVar(&p.file, "prices", "", "the price list is this `file` (default: HOME/prices.json)")
	flags.StringVar(&p.from, "run", "", "print the profile of this `run`, given by its directory or its name")
	flags.StringVarP(&p.out, "out", "o", "", "`directory` of the run (default: HOME/runs/profile-WORKLOAD-TIME)")
	p.show.add(flags)
	app.addNoWait(flags)
	return command
}

func (p *profileFlags) take(command *cobra.Command, app *App) error {
	if err := positive(command, "blocks", "budget"); err != nil {
		return err
	}
	if command.Flags().Changed("seed") {
		p.request.Overrides.Seed = &p.seed
	}
	plan, err := p.request.Plan()
	if err != nil {
		return badInput("%w", err)
	}
	if _, _, err := p.list(app); err != nil {
		return err
	}
	o := app.runOptions(plan)
	o.Directory = p.out
	result, err := executeShown(command.Context(), app, &o, p.show, p.show.display(app))
	if err != nil {
		return err
	}
	return errors.Join(p.print(app, result.Run), status(app, result))
}

// list is the price list, and why there is none.
func (p *profileFlags) list(app *App) (l *prices.List, why string, err error) {
	path := p.file
	if path == "" {
		path = prices.File(app.Home)
	}
	list, err := prices.Load(path, doctor.Machine())
	switch {
	case err == nil:
		return &list, "", nil
	case p.file != "":
		return nil, "", badInput("%w", err)
	case errors.Is(err, prices.ErrNone):
		return nil, "there is no price list: `tare prices` measures one, and predicts with it what environments add", nil
	}
	return nil, err.Error(), nil
}

func (p *profileFlags) print(app *App, r *rundir.Run) error {
	if !slices.ContainsFunc(r.Trials, func(t rundir.Trial) bool { return t.Environment == prices.Counted }) {
		return badInput("%s is no run of `tare profile`: nothing in it was counted", r.Manifest.Run)
	}
	list, why, err := p.list(app)
	if err != nil {
		return err
	}
	check := prices.Check{Without: why}
	var text bytes.Buffer
	columns := terminalOptions(app.Stdout, false).Width
	contrasts := model.Contrasts(r)
	for _, w := range r.Plan.Workloads {
		profile, err := prices.ProfileOf(r, w, contrasts)
		if err != nil {
			app.say("%s: no profile: %v", w.Name, err)
			continue
		}
		var predictions []prices.Prediction
		if list != nil {
			predictions = list.Predict(profile)
		}
		check.Add(profile, predictions)
		profile.Text(&text, columns)
		prices.TextOf(&text, profile, predictions, columns)
		text.WriteString("\n")
	}
	check.Text(&text, columns)
	if p.show.json {
		return p.show.document(app.Stdout, check)
	}
	_, err = app.Stdout.Write(text.Bytes())
	return err
}

// printGaps says how much of what was measured the price list of the home explains; nothing
// where there is none of this machine.
func printGaps(app *App, r *rundir.Run) error {
	list, err := prices.Load(prices.File(app.Home), doctor.Machine())
	if err != nil {
		return nil //nolint:nilerr // a list is no part of what was asked for
	}
	var text bytes.Buffer
	list.Gaps(&text, r, terminalOptions(app.Stdout, false).Width)
	_, err = app.Stdout.Write(text.Bytes())
	return err
}
