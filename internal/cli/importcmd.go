package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/importer"
	"tare/internal/quantity"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/strictyaml"
	"tare/internal/workload"
	"tare/internal/workload/parse"
)

// importFlags are what a command line says of files; a manifest says the same
// of many.
type importFlags struct {
	tool, environment, workload, into, out, baseline string
	title, fresh, margin, begins, timeIn             string
	names, timeLayout, zone                          string
	metrics                                          []string
	interleaved, skipBad                             bool
}

func newImportCommand(app *App) *cobra.Command {
	var f importFlags
	command := &cobra.Command{
		Use:   "import MANIFEST.yaml | --tool NAME --environment NAME FILE...",
		Short: "Make a run of raw output that exists already",
		Long: `Make a run of raw output that exists already, in files of one result or of
several, one after another.

--tool is a parser or a workload pack; tare ls workloads lists the packs. One
command imports one tool's files of one environment; the next environment goes
into the same run with --into. A manifest describes it all at once.

The report says that the results were imported, in what order they were taken
if that is known, and which conditions of the procedure they do not meet. What
nothing pairs gets an estimate and an interval, and no verdict.

The files are kept as they are in the run's folder, and each trial names its
file and its place in it. A result that cannot be read stops the import before
anything is written.`,
		Example: `  tare import --tool sysbench-cpu --environment native --out cpu native.log
  tare import --tool sysbench-cpu --environment docker --into cpu docker-*.log
  tare import --tool iperf3 --metric bandwidth_received:higher --out net \
      --names '^(?P<environment>native|docker)-.*\.json$' *.json
  tare import study.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := importRequest(&f, cmd, args)
			if err != nil {
				return badInput("%w", err)
			}
			return importRun(app, &f, request)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.tool, "tool", "", "what wrote the files: a parser, a workload pack, or a pack's file")
	flags.StringVar(&f.environment, "environment", "", "where the results come from: native, docker or any other name")
	flags.StringVar(&f.workload, "workload", "", "name of the workload (default: the tool's)")
	flags.StringArrayVar(&f.metrics, "metric", nil, "what is compared, NAME:lower or NAME:higher; several times for several (default: the tool's)")
	flags.StringVar(&f.names, "names", "", "regular expression for the files' names; groups time, environment and block tell, others are swept parameters")
	flags.StringVar(&f.timeLayout, "time-layout", "", "how the group time is written, as the second of January 2006 would be")
	flags.StringVar(&f.zone, "zone", "", "of times without an offset: +02:00 or Europe/Helsinki")
	flags.StringVar(&f.timeIn, "time-in", "", "path in each result's JSON to its time, in seconds since 1970")
	flags.StringVar(&f.begins, "begins", "", "regular expression for the first line of each result, where the parser cannot tell")
	flags.StringVar(&f.baseline, "baseline", "", "the environment that the others are compared with (default: the first)")
	flags.StringVar(&f.into, "into", "", "add to this run, which an import began")
	flags.StringVar(&f.out, "out", "", "folder of the new run (default: below the home folder)")
	flags.StringVar(&f.title, "title", "", "of the report")
	flags.StringVar(&f.fresh, "fresh", "unknown", "how often an instance was fresh: trial, block, run or unknown")
	flags.StringVar(&f.margin, "margin", "2%", "differences below it do not matter")
	flags.BoolVar(&f.interleaved, "interleaved", false, "the results of one number in all environments were taken together: compare them in pairs")
	flags.BoolVar(&f.skipBad, "skip-bad", false, "keep results that cannot be read as failed trials, with the reason")
	command.RegisterFlagCompletionFunc("tool", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		tools := append(parse.Names(), workload.Names()...)
		slices.Sort(tools)
		return slices.Compact(tools), cobra.ShellCompDirectiveDefault
	})
	exclude(command, "into", "out", "the one adds to a run that there is, the other names the folder of a new one")
	return command
}

// ofFiles are the flags that a manifest has keys for.
var ofFiles = []string{"environment", "workload", "metric", "names", "time-layout", "zone", "time-in", "begins", "title", "fresh", "margin", "interleaved"}

func importRequest(f *importFlags, cmd *cobra.Command, args []string) (*importer.Request, error) {
	if len(args) == 0 {
		return nil, errors.New("name the files, or a manifest; `tare import --help` has examples")
	}
	if f.tool != "" {
		return f.request(args)
	}
	if len(args) > 1 || !strictyaml.IsPath(args[0]) {
		return nil, fmt.Errorf("say with --tool what wrote %s: a parser (%s), or a workload pack", args[0], strings.Join(parse.Names(), ", "))
	}
	for _, name := range ofFiles {
		if cmd.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s is for files that are named here; write it into %s", name, args[0])
		}
	}
	r, err := importer.ReadManifest(args[0])
	if err != nil {
		return nil, err
	}
	r.SkipBad = r.SkipBad || f.skipBad
	if f.baseline != "" {
		r.Baseline = f.baseline
	}
	return r, nil
}

// request makes one of a command line.
func (f *importFlags) request(paths []string) (*importer.Request, error) {
	r := importer.New()
	r.Title, r.Baseline, r.Fresh = f.title, f.baseline, f.fresh
	r.Interleaved, r.SkipBad = f.interleaved, f.skipBad
	var err error
	if r.Margin, err = quantity.ParseShare(f.margin); err != nil {
		return nil, fmt.Errorf("--margin: %w", err)
	}
	metrics, err := parseMetrics(f.metrics)
	if err != nil {
		return nil, err
	}
	pack, err := importer.Tool(f.tool, metrics)
	if err != nil {
		return nil, fmt.Errorf("--tool: %w", err)
	}
	b := importer.Batch{Tool: f.tool, Pack: pack, Workload: f.workload, TimeIn: f.timeIn}
	if b.Workload == "" {
		b.Workload = pack.Name
	}
	if f.begins != "" {
		if b.Begins, err = regexp.Compile(f.begins); err != nil {
			return nil, fmt.Errorf("--begins: %w", err)
		}
	}
	var names *importer.Names
	if f.names != "" {
		if names, err = importer.NewNames(f.names, f.timeLayout, f.zone); err != nil {
			return nil, fmt.Errorf("--names: %w", err)
		}
	}
	if b.Files, err = importer.Files(paths, f.environment, names); err != nil {
		return nil, err
	}
	r.Batches = []importer.Batch{b}
	return r, r.Check()
}

// parseMetrics reads NAME:better and NAME:better:unit.
func parseMetrics(texts []string) ([]workload.Metric, error) {
	var all []workload.Metric
	for _, text := range texts {
		parts := strings.SplitN(text, ":", 3)
		m := workload.Metric{Name: parts[0], Primary: true}
		if len(parts) > 1 {
			m.Better = parts[1]
		}
		if len(parts) > 2 {
			m.Unit = parts[2]
		}
		if m.Name == "" || m.Better != "" && m.Better != "lower" && m.Better != "higher" {
			return nil, fmt.Errorf("--metric %s: write a field and its better direction, such as events_per_second:higher", text)
		}
		all = append(all, m)
	}
	return all, nil
}

func importRun(app *App, f *importFlags, request *importer.Request) error {
	o := importer.Options{Runs: run.Runs(app.Home), Folder: f.out, Version: app.Version, Command: app.Args, Now: time.Now()}
	if f.into != "" {
		folder, err := runFolder(app, f.into)
		if err != nil {
			return err
		}
		o.Into = folder
	}
	result, err := request.Import(o)
	if bad := (*importer.InputError)(nil); errors.As(err, &bad) {
		return badInput("%w", err)
	} else if err != nil {
		return err
	}
	in, err := sealImport(app, result.Folder)
	if err != nil {
		return err
	}
	if err := report.Terminal(app.Stdout, in, terminalOptions(app.Stdout, false)); err != nil {
		return err
	}
	fmt.Fprintf(app.Stdout, "\nrun     %s\nreport  %s\n", result.Folder, filepath.Join(result.Folder, "report.html"))
	if result.Failed > 0 {
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("%d of %d results could not be read: they are kept as failed trials", result.Failed, result.Results)}
	}
	return nil
}

// sealImport writes the reports and the checksums.
func sealImport(app *App, folder string) (in report.Input, err error) {
	w, err := rundir.Resume(folder)
	if err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if in, err = openReport(app, folder); err != nil {
		return in, err
	}
	var html, markdown bytes.Buffer
	return in, errors.Join(
		report.HTML(&html, in), w.WriteFile("report.html", html.Bytes()),
		report.Markdown(&markdown, in), w.WriteFile("report.md", markdown.Bytes()),
		w.Seal())
}
