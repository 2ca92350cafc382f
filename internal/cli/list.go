package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/base/term"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/papers/score"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/rundir/archive"
	"tare/internal/study"
	"tare/internal/workload"
)

// listing is a list of one type of things, for JSON and templates, and as rows of a
// table below its head.
type listing struct {
	things []any
	head   []string
	rows   [][]string
}

func (l *listing) add(thing any, row ...string) {
	l.things, l.rows = append(l.things, thing), append(l.rows, row)
}

// entry is a thing with a name and a description.
type entry struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// described lists the things of a sort with what they are.
func described(sort string, names []string, about func(name string) (string, error)) func() (listing, error) {
	return func() (listing, error) {
		list := listing{things: []any{}, head: []string{strings.ToUpper(sort), ""}}
		for _, name := range names {
			text, err := about(name)
			if err != nil {
				return listing{}, err
			}
			list.add(entry{name, text}, name, text)
		}
		return list, nil
	}
}

// listings are the lists of `tare ls`, by their names.
func listings(app *App) map[string]func() (listing, error) {
	return map[string]func() (listing, error){
		"runs":   func() (listing, error) { return listRuns(app) },
		"images": func() (listing, error) { return listImages(app) },
		"environments": described("environments", environment.Kinds(), func(kind string) (string, error) {
			r, _ := environment.Lookup(kind)
			return r.About, nil
		}),
		"workloads": described("workloads", workload.Names(), func(name string) (string, error) {
			pack, err := workload.Builtin(name)
			if err != nil {
				return "", err
			}
			return pack.Title + "; stresses " + pack.Stresses, nil
		}),
		"studies": described("studies", study.Names(), func(name string) (string, error) {
			title, err := study.Title(name)
			// A heading in a report begins with the name, which is the first column here.
			return strings.TrimPrefix(title, name+": "), err
		}),
		"profiles": described("profiles", score.Names(), func(name string) (string, error) {
			p, err := score.Builtin(name)
			if err != nil {
				return "", err
			}
			return p.Title, nil
		}),
	}
}

// sorts is the order of the lists.
var sorts = []string{"runs", "studies", "environments", "workloads", "profiles", "images"}

func newListCommand(app *App) *cobra.Command {
	var (
		asJSON, quiet bool
		format        string
		filters       []string
	)
	command := &cobra.Command{
		Use:   "ls [" + strings.Join(sorts, "|") + "]",
		Short: "List runs, studies, environments, workloads, profiles and images",
		Long: `List runs, studies, environments, workloads, profiles and images: everything, or one
sort.

--filter KEY=VALUE lists what it holds for; several hold together. Keys of all sorts
are name, which is a part of the name or a pattern such as quick-*, and about. Those of
runs are also study, state (ended, interrupted, not ended, unreadable), and since and
before: a date (2026-11-21), a time, or how long ago (36h).

--format is a template as docker has them; its fields are .Name and .About; of runs
.Name .Study .Created .Blocks .Trials .Failed .State .About; of images .Digest .Names
.Size .Made. The functions are json and join.`,
		Example: `  tare ls runs --filter state=interrupted --filter since=36h
  tare ls runs --format '{{.Name}} {{.State}}'
  tare rm $(tare ls runs -q --filter before=2026-11-01)`,
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && !slices.Contains(sorts, args[0]) {
				return badInput("%s", strictyaml.Unknown("list", args[0], sorts))
			}
			return nil
		}),
		ValidArgs: sorts,
		RunE: func(_ *cobra.Command, args []string) error {
			shown := sorts
			if len(args) == 1 {
				shown = args
			}
			if format != "" && len(shown) > 1 {
				return badInput("--format needs one sort of things, whose fields it has: tare ls runs --format %q", format)
			}
			template, err := listTemplate(format)
			if err != nil {
				return err
			}
			known, things := listings(app), map[string]any{}
			var tables []string
			for _, sort := range shown {
				list, err := known[sort]()
				if err != nil {
					return fmt.Errorf("list the %s: %w", sort, err)
				}
				if err := list.filter(filters, time.Now()); err != nil {
					return badInput("%w", err)
				}
				things[sort] = list.things
				switch {
				case asJSON:
				case quiet:
					for _, row := range list.rows {
						fmt.Fprintln(app.Stdout, row[0])
					}
				case format != "":
					for _, thing := range list.things {
						if err := template.Execute(app.Stdout, thing); err != nil {
							return badInput("--format: %w", err)
						}
						fmt.Fprintln(app.Stdout)
					}
				default:
					tables = append(tables, sort)
					printListing(app, list, sort, len(tables) > 1)
				}
			}
			if asJSON {
				return printJSON(app.Stdout, things)
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.BoolVar(&asJSON, "json", false, "print as JSON")
	flags.BoolVarP(&quiet, "quiet", "q", false, "print only the names, and the digests of images")
	flags.StringVar(&format, "format", "", "print each by this Go `template`, such as '{{.Name}}'")
	flags.StringArrayVarP(&filters, "filter", "f", nil, "list only what this holds for, `KEY=VALUE`; may be repeated")
	_ = command.RegisterFlagCompletionFunc("filter", cobra.FixedCompletions(lists.Map(filterKeys, func(key string) string { return key + "=" }), cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
	exclude(command, "json", "quiet", "both say how the list is printed")
	exclude(command, "json", "format", "both say how the list is printed")
	exclude(command, "quiet", "format", "both say how the list is printed")
	return command
}

func printListing(app *App, list listing, sort string, further bool) {
	if further {
		fmt.Fprintln(app.Stdout)
	}
	width := terminalOptions(app.Stdout, false).Width
	none := len(list.rows) == 0
	if none {
		term.Table(app.Stdout, width, [][]string{{strings.ToUpper(sort), ""}, {"(none)", ""}})
	} else {
		rows := slices.Concat([][]string{list.head}, list.rows)
		if sort == "runs" && term.TableWidth(rows)+len(rundir.Interrupted) > width { // the time is also in the usual name of a run
			for i, row := range rows {
				rows[i] = slices.Delete(slices.Clone(row), 1, 2)
			}
		}
		term.Table(app.Stdout, width, rows)
	}
	if elsewhere := run.RootsRuns(app.Home); none && sort == "runs" && elsewhere != "" {
		app.say("%s", elsewhere)
	}
}

func listRuns(app *App) (listing, error) {
	runs, err := rundir.List(run.Runs(app.Home))
	if err != nil {
		return listing{}, err
	}
	list := listing{things: []any{}, head: []string{"RUNS", "STARTED", "BLOCKS", "TRIALS", "FAILED", "STATE"}}
	for _, r := range runs {
		started := ""
		if !r.Created.IsZero() {
			started = r.Created.Local().Format("2006-01-02 15:04")
		}
		list.add(r, r.Name, started, rightAligned(r.Blocks), rightAligned(r.Trials), rightAligned(r.Failed), r.State)
	}
	return list, nil
}

// rightAligned is a number in a column of six.
func rightAligned(n int) string { return fmt.Sprintf("%6d", n) }

// shortDigest is the length of the unique prefix of a digest that `tare rm` accepts.
const shortDigest = len("sha256:") + image.PrefixDigits

func listImages(app *App) (listing, error) {
	images, err := image.Existing(run.Images(app.Home)).List()
	if err != nil {
		return listing{}, err
	}
	list := listing{things: []any{}, head: []string{"IMAGES", "SIZE", "MADE", "FOR"}}
	for _, i := range images {
		list.add(i, i.Digest[:min(shortDigest, len(i.Digest))], i.Size.String(), i.Made.Local().Format("2006-01-02 15:04"), strings.Join(i.Names, ", "))
	}
	return list, nil
}

func newShowCommand(app *App) *cobra.Command {
	var asJSON, verify, all bool
	command := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a run, a study, an environment or a workload",
		Long: `Show what a run printed last, the plan of a study, the requirements and options of
an environment, or the commands and metrics of a workload.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			name := args[0]
			if directory, err := app.find(name); err == nil || archive.Is(name) {
				if err != nil {
					return err
				}
				return showRun(app, directory, asJSON, verify, all)
			}
			if verify {
				return badInput("--verify needs a run, and %s is not one", name)
			}
			if all {
				return badInput("--all needs a run, and %s is not one", name)
			}
			if _, ok := environment.Lookup(name); ok {
				return showEnvironment(command.Context(), app, name, asJSON)
			}
			if slices.Contains(workload.Names(), name) {
				pack, err := workload.Builtin(name)
				if err != nil {
					return err
				}
				return showYAML(app, pack, asJSON)
			}
			if slices.Contains(study.Names(), name) {
				plan, err := resolve(name, study.Overrides{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(app.Stdout, plan)
				}
				return printDryRun(app, plan, false, printPlan)
			}
			known := slices.Concat(study.Names(), environment.Kinds(), workload.Names())
			if runs, err := rundir.List(run.Runs(app.Home)); err == nil {
				known = append(known, lists.Map(runs, func(r rundir.Listed) string { return r.Name })...)
			}
			near := ""
			if n := strictyaml.Nearest(name, known); n != "" {
				near = fmt.Sprintf("; did you mean %q?", n)
			}
			return badInput("there is no run, study, environment or workload %q%s (`tare ls` lists them)", name, near)
		},
	}
	command.Flags().BoolVar(&all, "all", false, "of a run, show every metric, not only the primary ones and costs per operation")
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	command.Flags().BoolVar(&verify, "verify", false, "run: verify the checksum of every file")
	return command
}

func newRemoveCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME...",
		Short: "Remove runs, and images by their digest",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			for _, name := range args {
				if err := remove(command.Context(), app, name); err != nil {
					return err
				}
				fmt.Fprintf(app.Stdout, "removed %s\n", name)
			}
			return nil
		},
	}
}

func remove(ctx context.Context, app *App, name string) error {
	if !strings.HasPrefix(name, "sha256:") {
		return inputError(run.Remove(app.Home, name))
	}
	removed, err := run.RemoveImage(ctx, app.Home, name)
	for _, line := range removed {
		fmt.Fprintln(app.Stdout, "removed", line)
	}
	return inputError(err)
}
