package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/attribution"
	"tare/internal/attribution/analysis"
	"tare/internal/environment"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/stats"
	"tare/internal/study"
)

// explainOptions are what the user asked `tare explain` for.
type explainOptions struct {
	workload string
	from, to string
	study    string
	over     study.Overrides
	set      []string // KEY=VALUE, at both ends
	setFrom  []string // at the one
	setTo    []string // at the other
	limits   []string
	margin   string
	parts    []string
	groups   []string
	order    string
	orders   int
	traced   int
}

func newExplainCommand(app *App) *cobra.Command {
	var (
		e      explainOptions
		o      run.Options
		seed   uint64
		resume string
		dryly  bool
		show   displayFlags
	)
	command := &cobra.Command{
		Use:   "explain WORKLOAD --to ENV [flags] | --resume RUN",
		Short: "Find out which part of a layer carries its cost",
		Long: `Find out which part of a layer carries its cost. Between the two environments a
ladder is built, each rung with one part more: a namespace, the overlay, the
bridge, the seccomp filter, the log path. All rungs run interleaved in the same
blocks, and what each part costs has an interval that holds for all parts at once.

WORKLOAD is a pack's name or file. Environments are written as for tare bench:
NAME or NAME+OPTION=VALUE... With --study, workload and environments are those
of a study, by name, with its limits and its image.

Where it matters which part is switched on first, --order shapley switches each
on in several orders, and shows the mean over them and their spread.`,
		Example: `  tare explain nginx --to docker+log=json-file --set access_log=/dev/stdout
  tare explain nginx --to docker+log=json-file --set-to access_log=/dev/stdout \
    --set-from access_log=/data/nginx/access.log
  tare explain redis --from native --to gvisor --limits cpus=1,memory=512MiB
  tare explain nginx --to docker --parts seccomp,network --order shapley
  tare explain --resume explain-nginx-20261121-014500`,
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == (resume != "") || len(args) > 1 {
				return fmt.Errorf("needs one workload, or --resume RUN")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			o.Home, o.Version, o.Command = app.Home, app.Version, app.Args
			if resume != "" {
				if err := goesOn(command); err != nil {
					return err
				}
				r, err := openRun(app, resume)
				if err != nil {
					return err
				}
				if len(r.Plan.Steps) == 0 {
					return badInput("%s is a run without a ladder: go on with it by `tare run --resume %s`", resume, runName(app, r.Folder))
				}
				o.Folder = r.Folder
				return explain(command.Context(), app, o, show)
			}
			if err := positive(command, "blocks", "budget", "orders"); err != nil {
				return err
			}
			if command.Flags().Changed("orders") && e.order != "shapley" {
				return badInput("--orders %d: a ladder has one order; several come with --order shapley", e.orders)
			}
			if command.Flags().Changed("seed") {
				e.over.Seed = &seed
			}
			e.workload = args[0]
			plan, err := e.plan(command.Context())
			if err != nil {
				return err
			}
			if dryly {
				return dry(app, plan, show.json, printLadder)
			}
			if !show.quiet && !show.json {
				app.say("%s", ladderSize(plan))
			}
			if err := forewarn(app, plan, show); err != nil {
				return err
			}
			o.Plan = plan
			return explain(command.Context(), app, o, show)
		},
	}
	flags := command.Flags()
	flags.StringVar(&e.from, "from", "native", "the environment that the ladder begins at")
	flags.StringVar(&e.to, "to", "", "the environment that it ends at")
	flags.StringVar(&e.study, "study", "", "take workload, environments, limits and image from this study: a file, or a built-in one's name")
	flags.StringVar(&e.over.Scale, "scale", "", "with --study: the study in one of the sizes that it brings")
	flags.StringArrayVar(&e.set, "set", nil, "a parameter of the workload: access_log=/dev/stdout")
	flags.StringArrayVar(&e.setFrom, "set-from", nil, "the same at the ladder's beginning alone")
	flags.StringArrayVar(&e.setTo, "set-to", nil, "the same at its end alone: what differs is a part like any other")
	flags.StringSliceVar(&e.limits, "limits", nil, "of every rung: cpus=1,memory=512MiB,pids=100")
	flags.StringSliceVar(&e.parts, "parts", nil, "only these parts, or groups of them, get a step each (--dry-run lists them); what lies between is one step")
	flags.StringSliceVar(&e.groups, "group", nil, "the parts of these groups are switched at once (with --order shapley: namespaces)")
	flags.StringVar(&e.order, "order", "ladder", "ladder: one part after another; shapley: the mean over several orders")
	flags.IntVar(&e.orders, "orders", 4, "with --order shapley: how many orders; all there are where the parts are four or fewer")
	flags.IntVar(&e.over.Blocks, "blocks", 0, "run exactly so many blocks, with the interval for a fixed number")
	flags.DurationVar(&e.over.Budget, "budget", 0, "spend at most this time, where verdicts are still open")
	flags.StringVar(&e.margin, "margin", "", "parts within it leave early, and are not material (default: 2%, or the study's)")
	flags.Uint64Var(&seed, "seed", 0, "of the random orders")
	flags.IntVar(&e.traced, "traced", 1, "so many trials of both ends, after the blocks, in which the kernel's work is counted")
	flags.StringVarP(&o.Folder, "out", "o", "", "folder of the run")
	flags.StringVar(&resume, "resume", "", "go on with this run: its folder or its name")
	flags.BoolVar(&dryly, "dry-run", false, "print the ladder and the expected duration, and start nothing; with --json as one object")
	show.add(flags)
	exclude(command, "resume", "dry-run", "the one goes on with a run that has its plan, the other makes a plan and starts nothing")
	command.RegisterFlagCompletionFunc("order", cobra.FixedCompletions([]string{"ladder", "shapley"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

// plan makes a study of the ladder, so that all that holds for studies holds for
// it.
func (e *explainOptions) plan(ctx context.Context) (*study.Plan, error) {
	switch {
	case e.to == "":
		return nil, badInput("--to names the environment that the ladder ends at, such as docker")
	case e.order != "ladder" && e.order != "shapley":
		return nil, badInput("--order %s is not known: choose ladder or shapley", e.order)
	case e.traced < 0:
		return nil, badInput("--traced %d: must not be negative", e.traced)
	case e.study == "" && e.over.Scale != "":
		return nil, badInput("--scale is one of a study's sizes: name the study with --study; a workload's own parameters are set with --set")
	}
	plan, from, to, err := e.ends()
	if err != nil {
		return nil, err
	}
	for end, set := range map[*study.Environment][]string{&from: e.setFrom, &to: e.setTo} {
		if err := setAt(plan.Workloads[0], end, set); err != nil {
			return nil, err
		}
	}
	ladder, err := attribution.Build(from, to, attribution.BuildOptions{Only: e.parts, Study: map[string]map[string]string{plan.Workloads[0].Name: given(plan.Workloads[0])}})
	if err != nil {
		return nil, badInput("%w", err)
	}
	if err := ladder.CheckGroups(e.groups); err != nil {
		return nil, badInput("--group: %w", err)
	}
	groups := e.groups
	if e.order == "shapley" && groups == nil {
		groups = []string{"namespaces"}
	}
	units := attribution.Units(ladder, groups)
	orders := [][]int{make([]int, len(units))}
	for i := range units {
		orders[0][i] = i
	}
	all := false
	if e.order == "shapley" {
		orders, all = attribution.Orders(units, e.orders, plan.Seed)
	}
	design, err := attribution.NewDesign(ladder, units, orders, missingHere(ctx))
	if err != nil {
		return nil, badInput("%w", err)
	}
	if all {
		design.Remarks = append(design.Remarks, fmt.Sprintf("these are all %d orders in which the parts can be switched on", len(orders)))
	}
	plan.Environments, plan.Steps, plan.Remarks = design.Environments, design.Steps, design.Remarks
	plan.Baseline = plan.Environments[0].Name
	if why := tooFew(plan); why != "" {
		plan.Remarks = append(plan.Remarks, why)
	}
	plan.Sampling.Traced = e.traced
	return plan, nil
}

// tooFew says that no interval of so many parts has two ends with the blocks that
// were asked for.
func tooFew(plan *study.Plan) string {
	parts := map[string]bool{}
	for _, s := range plan.Steps {
		if s.Part != "" {
			parts[s.Part] = true
		}
	}
	alpha, blocks := (1-float64(plan.Design.Confidence))/float64(len(parts)), plan.Design.Blocks
	if !blocks.Fixed || stats.SignedRankK(blocks.Max, alpha) > 0 {
		return ""
	}
	text, least := counted(blocks.Max, "block is", "blocks are")+" too few for an interval", stats.LeastBlocks(alpha)
	if len(parts) == 1 {
		return fmt.Sprintf("%s: it takes %d", text, least)
	}
	return fmt.Sprintf("%s of %d parts at once: it takes %d, or fewer parts (--parts, --group)", text, len(parts), least)
}

// missingHere asks each environment's kind whether it works on this machine, once.
// What runs elsewhere is found out when the run begins.
func missingHere(ctx context.Context) func(study.Environment) string {
	known := map[string]string{}
	return func(e study.Environment) string {
		if e.Inside != nil || e.Host != "" {
			return ""
		}
		key := e.Kind + "\x00" + string(e.Options)
		if why, asked := known[key]; asked {
			return why
		}
		known[key] = ""
		options, err := e.Decode()
		if err != nil {
			known[key] = err.Error()
		} else if state, findings := environment.Check(ctx, e.Kind, options); state == environment.Missing {
			known[key] = missingOf(findings)
		}
		return known[key]
	}
}

// missingOf is the finding that keeps an environment from working.
func missingOf(findings []environment.Finding) string {
	for _, f := range findings {
		if f.State == environment.Missing {
			return fmt.Sprintf("needs %s: %s", f.What, f.Reason)
		}
	}
	return "it does not work here"
}

// explain runs the plan and prints what came out.
func explain(ctx context.Context, app *App, o run.Options, show displayFlags) error {
	display := show.display(app)
	o.Events = display.Event
	result, err := run.Execute(ctx, o)
	display.Close()
	if err := outcome(ctx, result, err); err != nil {
		return err
	}
	in := result.ReportInput()
	if show.json {
		err = json.NewEncoder(app.Stdout).Encode(struct {
			Event        string                 `json:"event"`
			Folder       string                 `json:"folder"`
			Remarks      []string               `json:"remarks,omitempty"`
			Attributions []analysis.Attribution `json:"attributions"`
		}{"explained", result.Folder, in.Plan.Remarks, analysis.Of(in.Plan, in.Trials, in.Contrasts, analysis.Seen{Parity: in.Parity, Traced: in.Traced})})
	} else {
		var text bytes.Buffer
		err = report.Why(&text, in, terminalOptions(app.Stdout, false))
		fmt.Fprintf(app.Stdout, "%s\n%s", text.String(), app.ending(result))
	}
	if err != nil {
		return err
	}
	return status(app, result)
}
