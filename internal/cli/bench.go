package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/author/bench"
	"tare/internal/base/bounded"
	"tare/internal/parity"
	"tare/internal/run"
	"tare/internal/run/progress"
	"tare/internal/study"
)

func newBenchCommand(app *App) *cobra.Command {
	var (
		b       bench.Options
		seed    uint64
		out     string
		show    displayFlags
		exports exportFlags
	)
	command := &cobra.Command{
		Use:   "bench [flags] -- CMD ARGS...",
		Short: "Measure a command in several environments",
		Long: `Measure wall time, user and system CPU time, and peak memory of a command in
several environments. The runs alternate in random order and are repeated until
every environment has a verdict.

An environment is NAME or NAME+OPTION=VALUE..., such as docker+network=host; vm is
short for qemu. The first one is the baseline. The default is native, docker,
gvisor and vm, as far as they work here.

All environments run the same image: the OCI image of --image, or one that tare
builds from this machine's distribution with the package of the command and those
of --package. native alone without --image runs the command on this machine's
root file system.

The command is not run in a shell. To use one:
  tare bench -- sh -c 'gzip -9 < /bin/bash | wc -c'`,
		Example: `  tare bench -- sysbench cpu --time=1 run
  tare bench --env native,docker --image redis:7 -- redis-server --version
  tare bench --env native --runs 20 --warmup 3 -- sleep 0.1
  tare bench --parameter-scan n,1,4 -- sysbench cpu --threads={n} run
  tare bench --cold --env docker,gvisor -- true`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("the command to measure is missing: write it after --")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			b.Argv = args
			if err := positive(command, "runs", "budget"); err != nil {
				return err
			}
			if err := exports.check(); err != nil {
				return err
			}
			if command.Flags().Changed("seed") {
				b.Seed = &seed
			}
			var remarks []string
			if len(b.Environments) == 0 {
				b.Environments, remarks = b.Mountable(bench.Available(command.Context(), bench.DefaultEnvironments))
			}
			plan, err := b.Plan()
			if err != nil {
				return badInput("%w", err)
			}
			for _, remark := range append(remarks, b.Remarks()...) {
				app.say("%s", remark)
			}
			o := app.runOptions(plan)
			o.Directory = out
			return runBench(command.Context(), app, o, show, exports)
		},
	}
	flags := command.Flags()
	flags.SetInterspersed(false)
	flags.StringSliceVarP(&b.Environments, "env", "e", nil, "`environments`; the first is the baseline (default: native, docker, gvisor and vm, if they work)")
	flags.StringVar(&b.Image, "image", "", "OCI `image`: REGISTRY/NAME, docker-daemon:NAME, oci:DIRECTORY or tar:FILE")
	flags.StringSliceVar(&b.Packages, "package", nil, "distribution `packages` to install into the image")
	flags.IntVarP(&b.Warmup, "warmup", "w", 0, "`number` of uncounted runs in each fresh instance")
	flags.IntVarP(&b.Runs, "runs", "r", 0, "do exactly this `number` of runs in each environment")
	flags.DurationVar(&b.Budget, "budget", 0, "end after this `time` (5m, 1h)")
	flags.StringVar(&b.Margin, "margin", study.DefaultMargin.String(), "differences within this `share` count as equivalent")
	flags.StringVar(&b.Fresh, "fresh", "", "`when` to start a fresh instance: trial, block or run (default: block; run for a single environment)")
	flags.BoolVar(&b.Cold, "cold", false, "include the start of the environment in the wall time; every run has a fresh instance")
	flags.StringArrayVarP(&b.Prepare, "prepare", "p", nil, "shell `command` before each run, not timed")
	flags.StringArrayVarP(&b.Setup, "setup", "s", nil, "shell `command` once in each fresh instance, before the warm-up")
	flags.StringArrayVarP(&b.Cleanup, "cleanup", "c", nil, "shell `command` once in each instance, after its last run")
	flags.BoolVarP(&b.AnyStatus, "ignore-failure", "i", false, "ignore a non-zero exit status of the command")
	flags.StringArrayVar(&b.Figures, "figure", nil, "a `value` that the command prints, which decides in place of the wall time: NAME=SOURCE:WHERE,unit=UNIT,lower or higher; SOURCE is json, csv or regex")
	flags.StringArrayVar(&b.Variables, "env-var", nil, "environment `variable` of the commands: NAME=VALUE, or NAME for the value that tare has")
	flags.StringVar(&b.Workdir, "workdir", "", "`directory` inside in which the commands run (default: /)")
	flags.StringArrayVar(&b.Mounts, "mount", nil, "`directory` or file of this machine that instances have too: HOST:INSIDE[:ro]")
	flags.StringVar(&b.Input, "input", "", "`file` that is copied into each instance (/data/input) and is the command's standard input")
	flags.StringArrayVar(&b.Secrets, "secret", nil, "environment `variable` of the commands with a secret value: NAME has that of tare's own, NAME=FILE that of a file")
	flags.StringVarP(&b.Scan, "parameter-scan", "P", "", "the `values` that {NAME} in the commands takes: NAME,FROM,TO[,STEP]")
	flags.Uint64Var(&seed, "seed", 0, "`seed` of the random order (default: random, and recorded)")
	flags.StringVarP(&out, "out", "o", "", "`directory` of the run (default: HOME/runs/bench-TIME)")
	exports.add(flags)
	show.add(flags)
	show.addListen(flags)
	app.addNoWait(flags)
	return command
}

func runBench(ctx context.Context, app *App, o run.Options, show displayFlags, exports exportFlags) error {
	display, bar := show.display(app), bench.NewProgress(o.Plan)
	if live, ok := display.(*progress.Live); ok {
		live.Line = bar.Line
	}
	programs := bench.NewPrograms(o.Plan)
	var differ []string
	o.Fingerprinted = func(f parity.Fingerprint) []string {
		remarks := programs.Compare(f)
		differ = append(differ, remarks...)
		return remarks
	}
	o.Events = func(e run.Event) {
		bar.Add(e)
		// A block is one run of the command, so a line for each block or verdict
		// would be as many lines as runs.
		if e.Kind != run.Block && e.Kind != run.Verdict || show.json {
			display.Event(e)
		}
	}
	result, err := executeShown(ctx, app, &o, show, display)
	if err != nil {
		return err
	}
	summary := bench.Summarize(result, differ...)
	if show.json {
		err = show.document(app.Stdout, summary)
	} else {
		var text bytes.Buffer
		summary.Text(&text, terminalOptions(app.Stdout, false).Width)
		_, err = fmt.Fprintf(app.Stdout, "%s\nreport: %s\n", text.Bytes(), filepath.Join(result.Directory, "report.html"))
	}
	if err != nil {
		return err
	}
	if err := exports.write(app, summary); err != nil {
		return err
	}
	return status(app, result)
}

// exportFlags name the files that the summary is written to.
type exportFlags struct{ json, csv, markdown string }

func (x *exportFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&x.json, "export-json", "", "write the results as JSON to this `file`, in hyperfine's format with more fields")
	flags.StringVar(&x.csv, "export-csv", "", "write the results as CSV to this `file`")
	flags.StringVar(&x.markdown, "export-markdown", "", "write the results as a Markdown table to this `file`")
}

// check refuses a path that cannot be written to, before anything is started.
func (x *exportFlags) check() error {
	for _, path := range []string{x.json, x.csv, x.markdown} {
		if path == "-" {
			continue
		}
		if err := notWritable("export to", path); err != nil {
			return err
		}
	}
	return nil
}

// notWritable refuses a file that cannot be written; "" is none.
func notWritable(what, path string) error {
	if path == "" {
		return nil
	}
	directory := filepath.Dir(path)
	if info, err := os.Stat(directory); err != nil {
		return badInput("%s %s: %s: %w", what, path, directory, bounded.Cause(err))
	} else if !info.IsDir() {
		return badInput("%s %s: %s is not a directory", what, path, directory)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return badInput("%s %s: it is a directory: name a file", what, path)
	}
	return nil
}

func (x *exportFlags) write(app *App, s bench.Summary) error {
	for path, render := range map[string]func() ([]byte, error){x.json: s.JSON, x.csv: s.CSV, x.markdown: s.Markdown} {
		if path == "" {
			continue
		}
		text, err := render()
		if err != nil {
			return err
		}
		if path == "-" {
			_, err = app.Stdout.Write(text)
		} else {
			err = writeFile(path, text)
		}
		if err != nil {
			return fmt.Errorf("export to %s: %w", path, bounded.Cause(err))
		}
	}
	return nil
}
