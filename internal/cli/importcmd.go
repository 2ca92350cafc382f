package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/base/strictyaml"
	"tare/internal/papers/importer"
	"tare/internal/papers/table"
	"tare/internal/report/text"
	"tare/internal/run"
	"tare/internal/study"
	"tare/internal/workload"
	"tare/internal/workload/parse"
)

func newImportCommand(app *App) *cobra.Command {
	var (
		f         importer.Single
		columns   table.Columns
		into, out string
	)
	command := &cobra.Command{
		Use:   "import MANIFEST.yaml | --tool NAME --environment NAME FILE...",
		Short: "Make a run from existing output of benchmarks",
		Long: `Make a run from existing output of benchmarks. A file has one result, or several
one after another.

--tool is a parser or a workload pack (tare ls workloads). Import the files of one
tool and one environment with one command, and the next environment with --into.
Or describe everything in a manifest.

A log with several settings one after another, such as numbers of threads, is
sorted by what the tool prints of them: --level threads makes a level of each.

--tool table reads tables, and the files of hyperfine, Go, Google Benchmark,
Criterion, Phoronix and Prometheus, as tare stats does: flags say which columns are
meant. A column of blocks pairs the results.

The report says that the results were imported, in which order they were taken if
that is known, and which conditions of the procedure are not met. Results that are
not paired get an estimate and an interval, but no verdict.`,
		Example: `  tare import --tool sysbench-cpu --environment native --out cpu native.log
  tare import --tool sysbench-cpu --environment docker --into cpu docker-*.log
  tare import --tool iperf3 --metric bandwidth_received:higher --out net \
      --names '^(?P<environment>native|docker)-.*\.json$' *.json
  tare import --value ms --environment runtime --block run --out times runs.csv
  tare import --tool table --out commands hyperfine.json
  tare import study.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Paths = args
			request, err := importRequest(app, f, columns, cmd)
			if err != nil {
				return badInput("%w", err)
			}
			return importRun(app, request, into, out)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.Tool, "tool", "", "what wrote the files: a parser, a workload `pack`, the file of a pack, or table")
	flags.StringVar(&f.Environment, "environment", "", "`name` of the environment of the files: native, docker or any other; of a table the column of the environments")
	flags.StringVar(&f.Workload, "workload", "", "`name` of the workload (default: that of the tool)")
	flags.StringArrayVar(&f.Metrics, "metric", nil, "metric to compare, `NAME:DIRECTION` with lower or higher; may be repeated (default: those of the tool)")
	flags.StringVar(&f.Names, "names", "", "regular `expression` for the file names, with the named groups time, environment and block; other groups are swept parameters")
	flags.StringVar(&f.TimeLayout, "time-layout", "", "`layout` of the group time, as Go writes layouts: 20060102-150405")
	flags.StringVar(&f.Zone, "zone", "", "time `zone` of times without an offset: +02:00 or Europe/Helsinki")
	flags.StringVar(&f.TimeIn, "time-in", "", "`path` in the JSON of each result to its time, in seconds since 1970")
	flags.StringVar(&f.Begins, "begins", "", "regular `expression` for the first line of each result, if the parser cannot find it")
	flags.StringSliceVar(&f.Levels, "level", nil, "`settings` that the tool prints and that vary, such as threads,mode, or columns of a table: each combination of their values becomes a level")
	columnFlags(flags, &columns)
	flags.StringVar(&f.Baseline, "baseline", "", "`environment` that the others are compared with (default: the first)")
	flags.StringVar(&into, "into", "", "add to this imported `run`")
	flags.StringVar(&out, "out", "", "`directory` of the new run (default: below HOME/runs)")
	flags.StringVar(&f.Title, "title", "", "`title` of the report")
	flags.StringVar(&f.Fresh, "fresh", "unknown", "`how` often instances were fresh: trial, block, run or unknown")
	flags.StringVar(&f.Margin, "margin", study.DefaultMargin.String(), "differences within this `share` count as equivalent")
	flags.BoolVar(&f.Interleaved, "interleaved", false, "the n-th results of all environments were taken together: compare them in pairs")
	flags.BoolVar(&f.SkipBad, "skip-bad", false, "keep unreadable results as failed trials, with the reason")
	_ = command.RegisterFlagCompletionFunc("tool", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		tools := append(append(parse.Names(), workload.Names()...), importer.TableTool)
		slices.Sort(tools)
		return slices.Compact(tools), cobra.ShellCompDirectiveDefault
	})
	exclude(command, "into", "out", "--into adds to an existing run, --out names the directory of a new one")
	return command
}

// ofOutputs are the flags that have no meaning for tables.
var ofOutputs = []string{"names", "time-layout", "zone", "time-in", "begins"}

// ofFiles are the flags that have a key in a manifest.
var ofFiles = []string{"environment", "workload", "metric", "names", "time-layout", "zone", "time-in", "begins", "level", "title", "fresh", "margin", "interleaved"}

func importRequest(app *App, f importer.Single, columns table.Columns, cmd *cobra.Command) (*importer.Request, error) {
	if len(f.Paths) == 0 {
		return nil, errors.New("name the files, or a manifest; `tare import --help` has examples")
	}
	if f.Tool == importer.TableTool || f.Tool == "" && len(columns.Values) > 0 {
		for _, name := range ofOutputs {
			if cmd.Flags().Changed(name) {
				return nil, fmt.Errorf("--%s is for the output of tools, and a table says it in a column", name)
			}
		}
		files, err := filesNamed(app, f.Paths)
		if err != nil {
			return nil, err
		}
		columns.Environment, columns.Level = f.Environment, f.Levels
		return f.Tables(files, columns)
	}
	if f.Tool != "" {
		return f.Request()
	}
	manifest := f.Paths[0]
	if len(f.Paths) > 1 || !strictyaml.IsPath(manifest) {
		return nil, fmt.Errorf("--tool is missing: name what wrote %s: a parser (%s), or a workload pack", manifest, strings.Join(parse.Names(), ", "))
	}
	for _, name := range ofFiles {
		if cmd.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s describes files on the command line; write it into %s", name, manifest)
		}
	}
	r, err := importer.ReadManifest(manifest)
	if err != nil {
		return nil, err
	}
	r.SkipBad = r.SkipBad || f.SkipBad
	if f.Baseline != "" {
		r.Baseline = f.Baseline
	}
	return r, nil
}

func importRun(app *App, request *importer.Request, into, out string) (err error) {
	o := importer.Options{Runs: run.Runs(app.Home), Directory: out, Version: app.Version, Command: app.Args, Now: time.Now()}
	if into != "" {
		if o.Into, err = findOwnRun(app, into); err != nil {
			return err
		}
	}
	result, err := request.Import(o)
	if bad := (*importer.InputError)(nil); errors.As(err, &bad) {
		return badInput("%w", err)
	} else if err != nil {
		return err
	}
	in, err := run.FinishImport(result.Directory)
	if err != nil {
		return inputError(err)
	}
	if err := text.Write(app.Stdout, in, terminalOptions(app.Stdout, false)); err != nil {
		return err
	}
	for _, note := range result.Notes {
		fmt.Fprintf(app.Stdout, "\nnote    %s\n", note)
	}
	fmt.Fprintf(app.Stdout, "\nrun     %s\nreport  %s\n", result.Directory, filepath.Join(result.Directory, "report.html"))
	if result.Failed > 0 {
		return &ExitError{Status: ExitSomeFailed, Err: fmt.Errorf("%d of %d results could not be read: they are kept as failed trials", result.Failed, result.Results)}
	}
	return nil
}
