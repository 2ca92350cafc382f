package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"tare/internal/environment"
	"tare/internal/run"
	"tare/internal/strictyaml"
	"tare/internal/study"
	"tare/internal/workload"
)

// benchOptions are what the user asked `tare bench` for.
type benchOptions struct {
	environments []string
	image        string
	packages     []string
	warmup       int
	runs         int
	budget       time.Duration
	margin       string
	fresh        string
	cold         bool
	prepare      []string
	setup        []string
	cleanup      []string
	anyStatus    bool
	seed         uint64
	argv         []string
}

// benchPack is the name of the workload that is made of the command.
const benchPack = "command"

// singleRuns is how often a command runs where there is nothing to compare it
// with.
const singleRuns = 10

func newBenchCommand(app *App) *cobra.Command {
	var (
		b       benchOptions
		o       run.Options
		show    displayFlags
		exports exportFlags
	)
	command := &cobra.Command{
		Use:   "bench [flags] -- CMD ARGS...",
		Short: "Time any command in every environment named",
		Long: `Time any command in every environment named, interleaved in random order, until
the verdicts are in: wall time, user and system CPU time, and peak memory, each
with an interval.

An environment is written NAME or NAME+OPTION=VALUE..., such as
docker+network=host; vm is short for qemu. The first one is the baseline. By
default all of native, docker, gvisor and vm that work here take part.

The command runs in one image, the same bytes everywhere: --image names an OCI
image; else a small one is made of this machine's distribution, with the package
that holds the command and those named by --package. With native alone and no
--image the command runs in this machine's own root file system.

For a shell, say so: tare bench -- sh -c 'gzip -9 < /bin/bash | wc -c'`,
		Example: `  tare bench -- sysbench cpu --time=1 run
  tare bench --env native,docker --image redis:7 -- redis-server --version
  tare bench --env native --runs 20 --warmup 3 -- sleep 0.1
  tare bench --cold --env docker,gvisor -- true`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("needs a command after --")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			b.argv = args
			if err := positive(command, "runs", "budget"); err != nil {
				return err
			}
			if err := exports.check(); err != nil {
				return err
			}
			if len(b.environments) == 0 {
				b.environments = working(command.Context(), []string{"native", "docker", "gvisor", "vm"})
			}
			plan, err := b.plan(command.Flags().Changed("seed"))
			if err != nil {
				return err
			}
			o.Home, o.Version, o.Command, o.Plan = app.Home, app.Version, app.Args, plan
			return runBench(command.Context(), app, o, show, exports)
		},
	}
	flags := command.Flags()
	flags.SetInterspersed(false)
	flags.StringSliceVarP(&b.environments, "env", "e", nil, "environments, the first one the baseline (default: those that work)")
	flags.StringVar(&b.image, "image", "", "OCI image: a registry's, docker-daemon:NAME, oci:FOLDER or tar:FILE")
	flags.StringSliceVar(&b.packages, "package", nil, "distribution packages to put into the image")
	flags.IntVarP(&b.warmup, "warmup", "w", 0, "runs in each fresh instance that are not counted")
	flags.IntVarP(&b.runs, "runs", "r", 0, "exactly so many runs in each environment")
	flags.DurationVar(&b.budget, "budget", 0, "spend at most this time, where verdicts are still open")
	flags.StringVar(&b.margin, "margin", "2%", "differences within it count as equivalent")
	flags.StringVar(&b.fresh, "fresh", "", "a fresh instance each trial, block or run (default: block; run where there is one environment)")
	flags.BoolVar(&b.cold, "cold", false, "include the start of the environment in the wall time; each run has a fresh instance")
	flags.StringArrayVarP(&b.prepare, "prepare", "p", nil, "shell command before each run, not timed")
	flags.StringArrayVarP(&b.setup, "setup", "s", nil, "shell command once in each fresh instance, before the warm-up")
	flags.StringArrayVarP(&b.cleanup, "cleanup", "c", nil, "shell command once in each instance, after its last run")
	flags.BoolVarP(&b.anyStatus, "ignore-failure", "i", false, "accept any exit status of the command")
	flags.Uint64Var(&b.seed, "seed", 0, "of the random order")
	flags.StringVarP(&o.Folder, "out", "o", "", "folder of the run")
	exports.add(flags)
	show.add(flags)
	show.addListen(flags)
	return command
}

// working keeps the environments whose requirements hold here.
func working(ctx context.Context, names []string) (list []string) {
	for _, name := range names {
		kind := kindOf(name)
		if r, ok := environment.Lookup(kind); ok {
			if state, _ := environment.Check(ctx, kind, r.Options()); state != environment.Missing {
				list = append(list, name)
			}
		}
	}
	return list
}

// kindOf is the kind that an environment's short name stands for.
func kindOf(name string) string {
	if name == "vm" {
		return "qemu"
	}
	return name
}

// plan makes a study of the command, so that all that holds for studies holds
// for it.
func (b *benchOptions) plan(seeded bool) (*study.Plan, error) {
	if len(b.environments) == 0 {
		return nil, badInput("none of native, docker, gvisor and vm works here; `tare doctor` says why")
	}
	single := len(b.environments) == 1
	if b.cold && b.fresh != "" && b.fresh != "trial" {
		return nil, badInput("--cold times the start of a fresh instance in every run, so --fresh %s cannot be", b.fresh)
	}
	if b.fresh == "" {
		b.fresh = map[bool]string{true: "run", false: "block"}[single]
	}
	if b.cold {
		b.fresh = "trial"
	}
	environments := yaml.MapSlice{}
	var baseline string
	for i, text := range b.environments {
		name, options, err := parseEnvironment(text)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			baseline = name
		}
		if single && kindOf(name) == "native" && b.image == "" && len(b.packages) == 0 {
			options = append(options, yaml.MapItem{Key: "rootfs", Value: "host"})
		}
		environments = append(environments, yaml.MapItem{Key: name, Value: options})
	}
	recipe, err := b.imageSection(single && kindOf(b.environments[0]) == "native")
	if err != nil {
		return nil, err
	}
	design := yaml.MapSlice{{Key: "margin", Value: b.margin}, {Key: "fresh", Value: b.fresh}}
	switch {
	case b.runs > 0:
		design = append(design, yaml.MapItem{Key: "blocks", Value: b.runs})
	case single:
		design = append(design, yaml.MapItem{Key: "blocks", Value: singleRuns})
	}
	document := yaml.MapSlice{
		{Key: "study", Value: strings.Join(b.argv, " ")},
		{Key: "baseline", Value: baseline},
		{Key: "environments", Value: environments},
		{Key: "image", Value: recipe},
		{Key: "workloads", Value: []yaml.MapSlice{{{Key: "use", Value: benchPack}}}},
		{Key: "design", Value: design},
	}
	over := study.Overrides{Budget: b.budget}
	if seeded {
		over.Seed = &b.seed
	}
	return planOf(study.File{Origin: "tare bench", Name: "bench"}, document, b.pack(), over)
}

// planOf makes the plan of a study that a command wrote for itself, with a pack
// that stands in no file; nil for none.
func planOf(file study.File, document yaml.MapSlice, pack *workload.Pack, over study.Overrides) (*study.Plan, error) {
	var err error
	if file.Source, err = yaml.Marshal(document); err != nil {
		return nil, err
	}
	if pack != nil {
		file = *file.With(pack)
	}
	plan, err := study.Resolve(&file, over)
	var problems strictyaml.Problems
	if errors.As(err, &problems) {
		// The places are those of a document that nobody wrote.
		message := problems[0].Message
		if at := askedAt(file.Source, problems[0].Line); at != "" {
			message = at + ": " + message
		}
		return nil, badInput("%s", message)
	}
	if err != nil {
		return nil, badInput("%w", err)
	}
	return plan, nil
}

// askedAt is what a line of such a document was made of: an environment, or the
// flag whose section it is; "" for anything else.
func askedAt(source []byte, line int) (place string) {
	section := ""
	for i, text := range strings.Split(string(source), "\n") {
		if i == line {
			break
		}
		key, _, _ := strings.Cut(strings.TrimSpace(text), ":")
		switch indent := len(text) - len(strings.TrimLeft(text, " ")); {
		case indent == 0:
			section, place = key, map[string]string{"limits": "--limits"}[key]
		case indent == 2 && section == "environments":
			place = "environment " + strings.Trim(key, `"'`)
		case indent == 2 && section == "design":
			place = map[string]string{"margin": "--margin"}[key]
		}
	}
	return place
}

// parseEnvironment reads NAME+OPTION=VALUE+...
func parseEnvironment(text string) (string, yaml.MapSlice, error) {
	parts := strings.Split(text, "+")
	options := yaml.MapSlice{{Key: "kind", Value: kindOf(parts[0])}}
	for _, p := range parts[1:] {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return "", nil, badInput("--env %s: %q is not OPTION=VALUE", text, p)
		}
		options = append(options, yaml.MapItem{Key: key, Value: value})
	}
	return strings.NewReplacer("+", "-", "=", "-", "/", "-", ":", "-", ",", "-").Replace(text), options, nil
}

// imageSection says what the command runs in.
func (b *benchOptions) imageSection(onHost bool) (yaml.MapSlice, error) {
	if b.image != "" {
		if len(b.packages) > 0 {
			return nil, badInput("--package adds to an image that tare makes, and --image names a finished one: leave one of them out")
		}
		return yaml.MapSlice{{Key: "reference", Value: b.image}}, nil
	}
	packages := slices.Clone(b.packages)
	if _, err := exec.LookPath(b.argv[0]); onHost && len(packages) == 0 && err != nil {
		if wrong := new(exec.Error); errors.As(err, &wrong) {
			err = wrong.Err
		}
		return nil, badInput("%s: %w; native alone runs what this machine has: --package NAME makes an image with that Debian package, --image REF names one that has the command", b.argv[0], err)
	}
	if len(packages) == 0 && !onHost {
		owner, err := packageOf(b.argv[0])
		if err != nil {
			return nil, err
		}
		packages = append(packages, owner...)
	}
	return yaml.MapSlice{{Key: "packages", Value: packages}}, nil
}

// packageOf is the package of this machine that holds a command.
func packageOf(program string) ([]string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, badInput("%s is not on this machine, so its package is not known: name it with --package, or an image that has the command with --image", program)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	// Packages know a program by the path that they were built with, with or
	// without /usr, and not by what a link to it is called.
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		paths = append(paths, real)
	}
	var candidates []string
	for _, p := range paths {
		candidates = append(candidates, p, "/usr"+p, strings.TrimPrefix(p, "/usr"))
	}
	for _, c := range candidates {
		out, err := exec.Command("dpkg-query", "-S", c).Output()
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(out)) {
			if name, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(name, "diversion by") {
				name, _, _ = strings.Cut(strings.Split(name, ", ")[0], ":") // without the architecture
				return []string{name}, nil
			}
		}
	}
	return nil, badInput("%s (%s) belongs to no package of this machine, so it cannot be put into the image: name an image that has it with --image", program, path)
}

// pack is the command as a workload.
func (b *benchOptions) pack() *workload.Pack {
	driver := workload.Step{Argv: b.argv, AnyStatus: b.anyStatus}
	p := &workload.Pack{
		Name: benchPack, Title: strings.Join(b.argv, " "), Stresses: "cpu", Cold: b.cold, Driver: &driver,
		Metrics: []workload.Metric{
			{Name: workload.WallSeconds, Unit: "s", Better: "lower", Primary: true, About: "wall time by the instance's clock"},
			{Name: workload.UserSeconds, Unit: "s", Better: "lower", About: "CPU time of the command in user mode"},
			{Name: workload.SystemSeconds, Unit: "s", Better: "lower", About: "CPU time of the command in the kernel"},
			{Name: workload.MaxRSS, Unit: "B", Better: "lower", About: "peak memory of the command's largest process; never below the agent's own, some 4 MiB"},
		},
	}
	for _, line := range b.setup {
		p.Begin = append(p.Begin, workload.Step{Run: line})
	}
	for range b.warmup {
		p.Begin = append(p.Begin, driver)
	}
	for _, line := range b.prepare {
		p.Setup = append(p.Setup, workload.Step{Run: line})
	}
	for _, line := range b.cleanup {
		p.End = append(p.End, workload.Step{Run: line})
	}
	return p
}

func runBench(ctx context.Context, app *App, o run.Options, show displayFlags, exports exportFlags) error {
	display := show.display(app)
	estimates := newEstimates(o.Plan)
	o.Events = func(e run.Event) {
		estimates.hear(e)
		if live, ok := display.(*liveDisplay); ok && (e.Kind == run.Trying || e.Kind == run.Tried) {
			live.status(estimates.bar(e))
			return
		}
		// A line each block would be as many lines as runs, and the verdicts
		// stand in the result.
		if e.Kind != run.Block && e.Kind != run.Verdict || show.json {
			display.Event(e)
		}
	}
	stop, err := show.serve(app, &o)
	if err != nil {
		return err
	}
	defer stop()
	result, err := run.Execute(ctx, o)
	display.Close()
	if err := outcome(ctx, result, err); err != nil {
		return err
	}
	summary := summarize(result)
	if show.json {
		if err := json.NewEncoder(app.Stdout).Encode(summary); err != nil {
			return err
		}
	} else {
		var text bytes.Buffer
		summary.print(&text, terminalOptions(app.Stdout, false).Width)
		fmt.Fprintf(&text, "\nreport: %s\n", filepath.Join(result.Folder, "report.html"))
		if _, err := app.Stdout.Write(text.Bytes()); err != nil {
			return err
		}
	}
	if err := exports.write(summary); err != nil {
		return err
	}
	return status(app, result)
}

// writeTo writes an export: a file, or - for the standard output.
func writeTo(path string, text []byte) error {
	if path == "-" {
		_, err := os.Stdout.Write(text)
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}
