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

	"tare/internal/attribution"
	"tare/internal/attribution/analysis"
	"tare/internal/base/term"
	"tare/internal/prices"
	"tare/internal/report/model"
	"tare/internal/report/text"
	"tare/internal/run"
	"tare/internal/study"
)

type explainFlags struct {
	request attribution.Request
	of      string
	out     string
	seed    uint64
	resume  string
	dryRun  bool
	show    displayFlags
}

func newExplainCommand(app *App) *cobra.Command {
	var e explainFlags
	command := &cobra.Command{
		Use:   "explain WORKLOAD --to ENV [flags] | --of RUN | --resume RUN",
		Short: "Attribute the overhead of a layer to its parts",
		Long: `Attribute the overhead of a layer to its parts: namespaces, the overlay file
system, the bridge, the seccomp filter, the log path. tare builds a ladder of
environments from one to the other, where each step adds one part, and runs all of
them in the same rounds of the same blocks. The intervals of the parts' costs hold
simultaneously.

WORKLOAD is the name or the file of a pack. Environments are written as for
tare bench: NAME or NAME+OPTION=VALUE... With --study, the workload and the
environments are named as in the study, and its limits and image apply. With --of,
tare measures what a run found slower and no other run explains, one after another.

If the cost of a part depends on which others are on, --method shapley adds the
parts in several orders and shows the mean over them (the Shapley value) and the
spread.`,
		Example: `  tare explain nginx --to docker+log=json-file --set access_log=/dev/stdout
  tare explain redis --from native --to gvisor --limits cpus=1,memory=512MiB
  tare explain redis --study ./pods.yaml --from runc --via gvisor --to kata
  tare explain --of quick-20261121-014500 --budget 5m
  tare explain nginx --to docker --parts seccomp,network --method shapley`,
		Args: e.one,
		RunE: func(command *cobra.Command, args []string) error {
			if e.resume != "" {
				return e.continueRun(command, app)
			}
			return e.start(command, app, args)
		},
	}
	e.add(command.Flags())
	app.addNoWait(command.Flags())
	exclude(command, "resume", "dry-run", "a resumed run already has its plan")
	for _, name := range []string{"study", "scale", "from", "to", "via", "set", "set-from", "set-to", "limits"} {
		exclude(command, "of", name, "it is that of the run")
	}
	exclude(command, "of", "out", "each ladder is a run of its own")
	_ = command.RegisterFlagCompletionFunc("method", cobra.FixedCompletions([]string{"ladder", "shapley"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

// one takes a workload, or a flag in place of it.
func (e *explainFlags) one(_ *cobra.Command, args []string) error {
	given := slices.DeleteFunc(append([]string{e.of, e.resume}, args...), func(text string) bool { return text == "" })
	if len(given) != 1 {
		return errors.New("name either a workload, --of RUN or --resume RUN")
	}
	return nil
}

func (e *explainFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&e.request.From, "from", "native", "first `environment` of the ladder")
	flags.StringVar(&e.request.To, "to", "", "last `environment` of the ladder")
	flags.StringArrayVar(&e.request.Via, "via", nil, "`environment` that the ladder passes on its way; may be repeated, in the order of the ladder")
	flags.StringVar(&e.request.Study, "study", "", "take workload, environments, limits and image from this `study`, a file or a built-in name")
	flags.StringVar(&e.request.Overrides.Scale, "scale", "", "with --study: the `name` of one of its scales")
	flags.StringArrayVar(&e.request.Set, "set", nil, "set a parameter of the workload, `NAME=VALUE`")
	flags.StringArrayVar(&e.request.SetFrom, "set-from", nil, "set it in the first environment only, `NAME=VALUE`")
	flags.StringArrayVar(&e.request.SetTo, "set-to", nil, "set it in the last environment only, `NAME=VALUE`; the difference is a part too")
	flags.StringSliceVar(&e.request.Limits, "limits", nil, "`limits` of all environments: cpus=1,memory=512MiB,pids=100")
	flags.StringSliceVar(&e.request.Only, "parts", nil, "give only these `parts` or groups of parts a step each; others are joined (--dry-run lists them)")
	flags.StringSliceVar(&e.request.Groups, "group", nil, "switch the parts of each of these `groups` at once (default with --method shapley: namespaces)")
	flags.StringVar(&e.request.Method, "method", "ladder", "`how` the costs of parts are found: ladder adds one after another, shapley averages over several orders")
	flags.IntVar(&e.request.Orders, "orders", 4, "with --method shapley: `number` of orders; up to four parts, all orders")
	flags.IntVar(&e.request.Overrides.Blocks, "blocks", 0, "run exactly this `number` of blocks, and use the interval for a fixed number")
	flags.DurationVar(&e.request.Overrides.Budget, "budget", 0, "end after this `time` (5m, 1h); it goes to open verdicts")
	flags.StringVar(&e.request.Margin, "margin", "", "costs within this `share` count as equivalent, and their parts leave early (default: 2%, or that of the study)")
	flags.Uint64Var(&e.seed, "seed", 0, "`seed` of the random orders (default: random, and recorded)")
	flags.IntVar(&e.request.Traced, "traced", 1, "`number` of trials of the first and the last environment with kernel tracing, after the blocks")
	flags.StringVar(&e.of, "of", "", "measure what this `run` found, and no other run explains")
	flags.StringVarP(&e.out, "out", "o", "", "`directory` of the run (default: HOME/runs/explain-WORKLOAD-TIME)")
	flags.StringVar(&e.resume, "resume", "", "continue this `run`, given by its directory or its name")
	flags.BoolVar(&e.dryRun, "dry-run", false, "print the ladder and the expected duration, and start nothing")
	e.show.add(flags)
}

// continueRun resumes a run over a ladder.
func (e *explainFlags) continueRun(command *cobra.Command, app *App) error {
	if err := checkResume(command); err != nil {
		return err
	}
	r, err := openRun(app, e.resume)
	if err != nil {
		return err
	}
	if err := app.checkOwner(r.Directory); err != nil {
		return err
	}
	if len(r.Plan.Steps) == 0 {
		return badInput("%s is a run without a ladder: continue it with `tare run --resume %s`", e.resume, run.Name(app.Home, r.Directory))
	}
	o := app.runOptions(nil)
	o.Directory = r.Directory
	return explain(command.Context(), app, o, e.show)
}

// start makes the plans of new runs and executes them.
func (e *explainFlags) start(command *cobra.Command, app *App, workload []string) error {
	if err := positive(command, "blocks", "budget", "orders"); err != nil {
		return err
	}
	if command.Flags().Changed("orders") && e.request.Method != "shapley" {
		return badInput("--orders %d: a ladder has one order; use --method shapley for several", e.request.Orders)
	}
	if command.Flags().Changed("seed") {
		e.request.Overrides.Seed = &e.seed
	}
	requests, err := e.requests(app, workload)
	if err != nil {
		return err
	}
	var plans []*study.Plan
	for _, r := range requests {
		plan, err := r.Plan(command.Context())
		if err != nil {
			return badInput("%w", err)
		}
		plans = append(plans, plan)
	}
	for _, plan := range plans {
		switch failed := e.execute(command.Context(), app, plan); {
		case command.Context().Err() != nil:
			return failed
		case err == nil:
			err = failed // the other ladders do not depend on it
		}
	}
	return err
}

// requests are the ladders that are asked for.
func (e *explainFlags) requests(app *App, workload []string) (all []attribution.Request, err error) {
	if e.of == "" {
		e.request.Workload = workload[0]
		return []attribution.Request{e.request}, nil
	}
	in, err := openReport(app, e.of)
	if err != nil {
		return nil, err
	}
	in.Explained = app.explained(in)
	for _, l := range model.New(in).Unexplained() {
		r := e.request
		r.Study, r.Overrides.Scale, r.Workload, r.From, r.To = l.Study, l.Scale, l.Workload, l.From, l.To
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, badInput("--of %s: no layer is slower there without a run that explains it; `tare show %[1]s` says what it found", e.of)
	}
	return all, nil
}

func (e *explainFlags) execute(ctx context.Context, app *App, plan *study.Plan) error {
	if e.dryRun {
		return printDryRun(app, plan, e.show.json, printLadder)
	}
	if !e.show.quiet && !e.show.json {
		app.say("%s", attribution.Size(plan))
	}
	if err := warnOfLongRun(app, plan, e.show); err != nil {
		return err
	}
	o := app.runOptions(plan)
	o.Directory = e.out
	return explain(ctx, app, o, e.show)
}

// explain runs the plan and prints what each part costs.
func explain(ctx context.Context, app *App, o run.Options, show displayFlags) error {
	result, err := executeShown(ctx, app, &o, show, show.display(app))
	if err != nil {
		return err
	}
	in := result.ReportInput()
	if show.json {
		explained, without := gaps(app, result.Run)
		err = show.document(app.Stdout, struct {
			Event        string                 `json:"event"`
			Directory    string                 `json:"folder"`
			Remarks      []string               `json:"remarks,omitempty"`
			Attributions []analysis.Attribution `json:"attributions"`
			Gaps         []prices.Gap           `json:"gaps,omitempty"`
			WithoutGap   []string               `json:"without_gap,omitempty"`
		}{"explained", result.Directory, in.Plan.Remarks, analysis.Of(in.Plan, in.Trials, in.Contrasts, analysis.Seen{Parity: in.Parity, Traced: in.Traced}), explained, without})
	} else {
		var why bytes.Buffer
		err = text.WriteWhy(&why, in, terminalOptions(app.Stdout, false))
		fmt.Fprint(app.Stdout, why.String())
		printGaps(app, result.Run)
		fmt.Fprintf(app.Stdout, "\n%s", app.ending(result))
	}
	if err != nil {
		return err
	}
	return status(app, result)
}

// printLadder prints the environments of a ladder, and how long a run takes.
func printLadder(app *App, d *run.DryRun) error {
	w, plan := app.Stdout, d.Plan
	fmt.Fprintf(w, "%s\n\n%s\n", plan.Study, attribution.Size(plan))
	order := -1
	var rows [][]string
	flush := func() {
		term.Table(w, 80, rows)
		rows = nil
	}
	for _, step := range plan.Steps {
		if step.Part == "" {
			continue
		}
		if step.Order != order {
			flush()
			if order = step.Order; order > 0 {
				fmt.Fprintf(w, "\norder %d\n", order)
			} else {
				fmt.Fprintln(w)
			}
			rows = append(rows, []string{"  " + step.Base, "", ""})
		}
		about := step.Name
		if order <= 1 && step.About != "" {
			about += ": " + step.About
		}
		rows = append(rows, []string{"  " + step.Environment, step.Part, about})
	}
	flush()
	if len(d.Remarks) > 0 {
		fmt.Fprintln(w)
	}
	for _, r := range d.Remarks {
		fmt.Fprintln(w, strings.Join(term.Wrap("note: "+r, 78), "\n  "))
	}
	printExpected(w, d)
	return nil
}
