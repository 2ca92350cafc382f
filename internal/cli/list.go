package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/bundle"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/run"
	"tare/internal/study"
	"tare/internal/workload"
)

// entry is one row of `tare ls`.
type entry struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// listings are the sorts of things that `tare ls` knows, by their words.
func listings(app *App) map[string]func() ([]entry, error) {
	return map[string]func() ([]entry, error){
		"runs": func() ([]entry, error) { return listRuns(app) },
		"environments": func() (list []entry, _ error) {
			for _, kind := range environment.Kinds() {
				r, _ := environment.Lookup(kind)
				list = append(list, entry{kind, r.About})
			}
			return list, nil
		},
		"workloads": func() (list []entry, err error) {
			for _, name := range workload.Names() {
				pack, err := workload.Builtin(name)
				if err != nil {
					return nil, err
				}
				list = append(list, entry{name, pack.Title + "; stresses " + pack.Stresses})
			}
			return list, nil
		},
		"studies": func() (list []entry, err error) {
			for _, name := range study.Names() {
				plan, err := resolve(name, study.Overrides{})
				if err != nil {
					return nil, err
				}
				list = append(list, entry{name, plan.Study})
			}
			return list, nil
		},
		"images": func() ([]entry, error) { return listImages(app) },
	}
}

// sorts is the order in which they are listed.
var sorts = []string{"runs", "studies", "environments", "workloads", "images"}

func newListCommand(app *App) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:       "ls [runs|studies|environments|workloads|images]",
		Short:     "List runs, studies, environments, workloads and images",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: sorts,
		RunE: func(_ *cobra.Command, args []string) error {
			all := map[string][]entry{}
			for _, sort := range sorts {
				if len(args) == 1 && args[0] != sort {
					continue
				}
				list, err := listings(app)[sort]()
				if err != nil {
					return fmt.Errorf("list the %s: %w", sort, err)
				}
				all[sort] = list
			}
			if asJSON {
				return printJSON(app.Stdout, all)
			}
			width := terminalOptions(app.Stdout, false).Width
			first := true
			for _, sort := range sorts {
				list, asked := all[sort]
				if !asked {
					continue
				}
				if !first {
					fmt.Fprintln(app.Stdout)
				}
				first = false
				rows := [][]string{{strings.ToUpper(sort), ""}}
				for _, e := range list {
					rows = append(rows, []string{e.Name, e.About})
				}
				if len(list) == 0 {
					rows = append(rows, []string{"(none)", ""})
				}
				table(app.Stdout, width, rows)
			}
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return command
}

func listRuns(app *App) ([]entry, error) {
	folders, err := os.ReadDir(run.Runs(app.Home))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var list []entry
	for _, f := range folders {
		r, err := bundle.Open(filepath.Join(run.Runs(app.Home), f.Name()))
		if err != nil {
			list = append(list, entry{f.Name(), "cannot be read: " + err.Error()})
			continue
		}
		list = append(list, entry{f.Name(), summary(r)})
	}
	return list, nil
}

// summary is a run in one line.
func summary(r *bundle.Run) string {
	blocks, failed := 0, 0
	for _, t := range r.Trials {
		blocks = max(blocks, t.Block)
		if t.Status == bundle.Failed {
			failed++
		}
	}
	text := fmt.Sprintf("%s; %s; %d trials in %d blocks", r.Plan.Study, r.Manifest.Created.Local().Format(time.DateTime), len(r.Trials), blocks)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if n := len(r.Manifest.Sessions); n > 0 {
		if last := r.Manifest.Sessions[n-1]; last.Ended.IsZero() {
			text += "; under way, or killed"
		} else {
			text += "; " + last.Stopped
		}
	}
	return text
}

func listImages(app *App) ([]entry, error) {
	store, err := image.Open(run.Images(app.Home))
	if err != nil {
		return nil, err
	}
	images, err := store.List()
	if err != nil {
		return nil, err
	}
	var list []entry
	for _, i := range images {
		list = append(list, entry{i.Digest, fmt.Sprintf("%s; %s", strings.Join(i.Names, ", "), i.Size)})
	}
	return list, nil
}

func newShowCommand(app *App) *cobra.Command {
	var asJSON, verify bool
	command := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a run, a study, an environment's requirements or a workload",
		Long: `Show a run's verdicts, a study's plan, what an environment requires with its
options and their defaults, or a workload's commands and metrics.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			name := args[0]
			if folder, err := runFolder(app, name); err == nil {
				return showRun(app, folder, asJSON, verify)
			}
			if verify {
				return badInput("--verify is for runs, and %s is none", name)
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
				return printPlan(app, plan)
			}
			return badInput("there is no run, study, environment or workload %q; `tare ls` lists them", name)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	command.Flags().BoolVar(&verify, "verify", false, "of a run: compare every file with its checksum")
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

// remove takes runs of the home and images of its store; a folder elsewhere is
// the user's own to delete.
func remove(ctx context.Context, app *App, name string) error {
	if strings.HasPrefix(name, "sha256:") {
		return removeImage(ctx, app, name)
	}
	folder := filepath.Join(run.Runs(app.Home), name)
	if name != filepath.Base(name) || name == "." || name == ".." {
		return badInput("%s is no run's name; tare removes only runs below %s and images by their digest", name, run.Runs(app.Home))
	}
	if bundle.Stillborn(folder) {
		return os.RemoveAll(folder)
	}
	w, err := bundle.Resume(folder) // takes the lock: a run that is under way is not removed
	if err != nil {
		return badInput("%w", err)
	}
	defer w.Close()
	return os.RemoveAll(folder)
}

// removeImage removes an image and the copies that engines have of it.
func removeImage(ctx context.Context, app *App, digest string) error {
	store, err := image.Open(run.Images(app.Home))
	if err != nil {
		return err
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(e image.Entry) bool { return strings.HasPrefix(e.Digest, digest) })
	if at < 0 {
		return badInput("there is no image %s; `tare ls images` lists them", digest)
	}
	digest = list[at].Digest
	if err := store.Remove(digest); err != nil {
		return err
	}
	for _, kind := range environment.Kinds() {
		if r, _ := environment.Lookup(kind); r.Forget != nil {
			removed, err := r.Forget(ctx, func(d string) bool { return d != digest })
			for _, line := range removed {
				fmt.Fprintln(app.Stdout, "removed", line)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
