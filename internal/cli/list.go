package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/score"
	"tare/internal/study"
	"tare/internal/workload"
)

// listing is one sort of things: what JSON has of each, and rows under a
// heading for people. The last column takes what is left of the width.
type listing struct {
	things any
	rows   [][]string
}

// entry is what there is to say of things that have but a name.
type entry struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

func entries(sort string, list []entry) listing {
	rows := [][]string{{strings.ToUpper(sort), ""}}
	for _, e := range list {
		rows = append(rows, []string{e.Name, e.About})
	}
	return listing{list, rows}
}

// listings are the sorts of things that `tare ls` knows, by their words.
func listings(app *App, width int) map[string]func() (listing, error) {
	return map[string]func() (listing, error){
		"runs": func() (listing, error) { return listRuns(app, width) },
		"environments": func() (listing, error) {
			list := []entry{}
			for _, kind := range environment.Kinds() {
				r, _ := environment.Lookup(kind)
				list = append(list, entry{kind, r.About})
			}
			return entries("environments", list), nil
		},
		"workloads": func() (listing, error) {
			list := []entry{}
			for _, name := range workload.Names() {
				pack, err := workload.Builtin(name)
				if err != nil {
					return listing{}, err
				}
				list = append(list, entry{name, pack.Title + "; stresses " + pack.Stresses})
			}
			return entries("workloads", list), nil
		},
		"studies": func() (listing, error) {
			list := []entry{}
			for _, name := range study.Names() {
				plan, err := resolve(name, study.Overrides{})
				if err != nil {
					return listing{}, err
				}
				list = append(list, entry{name, plan.Study})
			}
			return entries("studies", list), nil
		},
		"profiles": func() (listing, error) {
			list := []entry{}
			for _, name := range score.Names() {
				p, err := score.Builtin(name)
				if err != nil {
					return listing{}, err
				}
				list = append(list, entry{name, p.Title})
			}
			return entries("profiles", list), nil
		},
		"images": func() (listing, error) { return listImages(app) },
	}
}

// sorts is the order in which they are listed.
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
			known, all := listings(app, width), map[string]listing{}
			for _, sort := range sorts {
				if len(args) == 1 && args[0] != sort {
					continue
				}
				list, err := known[sort]()
				if err != nil {
					return fmt.Errorf("list the %s: %w", sort, err)
				}
				all[sort] = list
			}
			if asJSON {
				things := map[string]any{}
				for sort, list := range all {
					things[sort] = list.things
				}
				return printJSON(app.Stdout, things)
			}
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
				if len(list.rows) == 1 {
					list.rows = [][]string{{strings.ToUpper(sort), ""}, {"(none)", ""}}
				}
				table(app.Stdout, width, list.rows)
			}
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return command
}

// runEntry is a run as `tare ls` has it.
type runEntry struct {
	Name    string    `json:"name"`
	Study   string    `json:"study,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Blocks  int       `json:"blocks"`
	Trials  int       `json:"trials"`
	Failed  int       `json:"failed"`
	// State is a word: ended, interrupted, "not ended" while it is under way or
	// was killed, or unreadable.
	State string `json:"state"`
	About string `json:"about,omitempty"` // why it ended, or cannot be read
}

func listRuns(app *App, width int) (listing, error) {
	folders, err := os.ReadDir(run.Runs(app.Home))
	if err != nil && !os.IsNotExist(err) {
		return listing{}, err
	}
	list := []runEntry{}
	for _, f := range folders {
		r, err := rundir.Open(filepath.Join(run.Runs(app.Home), f.Name()))
		if err != nil {
			list = append(list, runEntry{Name: f.Name(), State: "unreadable", About: err.Error()})
			continue
		}
		list = append(list, describe(f.Name(), r))
	}
	rows := [][]string{{"RUNS", "STARTED", "BLOCKS", "TRIALS", "FAILED", "STATE"}}
	for _, e := range list {
		started := ""
		if !e.Created.IsZero() {
			started = e.Created.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{e.Name, started, right(e.Blocks), right(e.Trials), right(e.Failed), e.State})
	}
	if wide(rows)+len(interrupted) > width { // a run's name has the time in it, unless it was given another
		for i, row := range rows {
			rows[i] = slices.Delete(row, 1, 2)
		}
	}
	return listing{list, rows}, nil
}

// interrupted is what a session that was cut off has as its reason to end, and
// the longest state.
const interrupted = "interrupted"

// right sets a number to the right of a column of six.
func right(n int) string { return fmt.Sprintf("%6d", n) }

func describe(name string, r *rundir.Run) runEntry {
	e := runEntry{Name: name, Study: r.Plan.Study, Created: r.Manifest.Created, Trials: len(r.Trials), State: "not ended"}
	for _, t := range r.Trials {
		e.Blocks = max(e.Blocks, t.Block)
		if t.Status == rundir.Failed {
			e.Failed++
		}
	}
	if n := len(r.Manifest.Sessions); n > 0 && !r.Manifest.Sessions[n-1].Ended.IsZero() {
		e.State, e.About = "ended", r.Manifest.Sessions[n-1].Stopped
		if e.About == interrupted {
			e.State = interrupted
		}
	}
	return e
}

// shortDigest is as much of a digest as tells images apart: `tare rm` takes it.
const shortDigest = len("sha256:") + 12

func listImages(app *App) (listing, error) {
	store, err := image.Open(run.Images(app.Home))
	if err != nil {
		return listing{}, err
	}
	images, err := store.List()
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
				return dry(app, plan, false, printPlan)
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
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return badInput("there is no run %s: %s does not exist; `tare ls runs` lists them", name, folder)
	}
	if rundir.Stillborn(folder) {
		return os.RemoveAll(folder)
	}
	w, err := rundir.Resume(folder) // takes the lock: a run that is under way is not removed
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
