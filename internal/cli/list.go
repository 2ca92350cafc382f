package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// listing is a list of one type of things, as JSON and as rows of a table.
type listing struct {
	things any
	rows   [][]string
}

// entry is a thing with a name and a description.
type entry struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// described lists the things of a sort with what they are.
func described(sort string, names []string, about func(name string) (string, error)) func() (listing, error) {
	return func() (listing, error) {
		list, rows := []entry{}, [][]string{{strings.ToUpper(sort), ""}}
		for _, name := range names {
			text, err := about(name)
			if err != nil {
				return listing{}, err
			}
			list, rows = append(list, entry{name, text}), append(rows, []string{name, text})
		}
		return listing{list, rows}, nil
	}
}

// listings are the lists of `tare ls`, by their names.
func listings(app *App, width int) map[string]func() (listing, error) {
	return map[string]func() (listing, error){
		"runs":   func() (listing, error) { return listRuns(app, width) },
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
			plan, err := resolve(name, study.Overrides{})
			if err != nil {
				return "", err
			}
			// A heading in a report begins with the name, which is the first column here.
			return strings.TrimPrefix(plan.Study, name+": "), nil
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
	var asJSON bool
	command := &cobra.Command{
		Use:       "ls [" + strings.Join(sorts, "|") + "]",
		Short:     "List runs, studies, environments, workloads, profiles and images",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: sorts,
		RunE: func(_ *cobra.Command, args []string) error {
			width := terminalOptions(app.Stdout, false).Width
			known, things := listings(app, width), map[string]any{}
			var shown []string
			lists := map[string]listing{}
			for _, sort := range sorts {
				if len(args) == 1 && args[0] != sort {
					continue
				}
				list, err := known[sort]()
				if err != nil {
					return fmt.Errorf("list the %s: %w", sort, err)
				}
				shown, lists[sort], things[sort] = append(shown, sort), list, list.things
			}
			if asJSON {
				return printJSON(app.Stdout, things)
			}
			for i, sort := range shown {
				if i > 0 {
					fmt.Fprintln(app.Stdout)
				}
				rows := lists[sort].rows
				none := len(rows) == 1
				if none {
					rows = [][]string{{strings.ToUpper(sort), ""}, {"(none)", ""}}
				}
				term.Table(app.Stdout, width, rows)
				if elsewhere := run.RootsRuns(app.Home); none && sort == "runs" && elsewhere != "" {
					app.say("%s", elsewhere)
				}
			}
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return command
}

func listRuns(app *App, width int) (listing, error) {
	list, err := rundir.List(run.Runs(app.Home))
	if err != nil {
		return listing{}, err
	}
	rows := [][]string{{"RUNS", "STARTED", "BLOCKS", "TRIALS", "FAILED", "STATE"}}
	for _, r := range list {
		started := ""
		if !r.Created.IsZero() {
			started = r.Created.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{r.Name, started, rightAligned(r.Blocks), rightAligned(r.Trials), rightAligned(r.Failed), r.State})
	}
	if term.TableWidth(rows)+len(rundir.Interrupted) > width { // the time is also in the usual name of a run
		for i, row := range rows {
			rows[i] = slices.Delete(row, 1, 2)
		}
	}
	return listing{list, rows}, nil
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
	rows := [][]string{{"IMAGES", "SIZE", "MADE", "FOR"}}
	for _, i := range images {
		rows = append(rows, []string{i.Digest[:min(shortDigest, len(i.Digest))], i.Size.String(), i.Made.Local().Format("2006-01-02 15:04"), strings.Join(i.Names, ", ")})
	}
	return listing{images, rows}, nil
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
