// Package bench measures one command in several environments: the plan of a
// command line, and the summary of its run.
//
// It must not know flags, nor start anything: the plan is run like that of any
// study.
package bench

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"tare/internal/application/secret"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/study"
	"tare/internal/workload"
)

// Options are what to measure, and how.
type Options struct {
	Argv         []string
	Environments []string // NAME or NAME+OPTION=VALUE...; the first is the baseline
	Image        string   // an OCI reference; "" builds an image
	Packages     []string // of the distribution, for an image that is built
	Warmup       int      // runs in each fresh instance that are not counted
	Runs         int      // exactly so many; 0 until the verdicts are in
	Budget       time.Duration
	Margin       string
	Fresh        string // trial, block or run; "" chooses
	Cold         bool   // the wall time includes the start of the environment
	AnyStatus    bool   // of the command
	Seed         *uint64
	Secrets      []string // NAME, of tare's own environment, or NAME=FILE
	Variables    []string // NAME=VALUE, or NAME, of tare's own environment
	Workdir      string   // inside, of all commands
	Mounts       []string // HOST:INSIDE[:ro]
	Figures      []string // NAME=SOURCE:WHERE,unit=UNIT,lower|higher: of the command's output
	Input        string   // a file of this machine: the command's standard input
	Scan         string   // NAME,FROM,TO[,STEP]: the values that {NAME} of the commands takes

	Setup, Prepare, Cleanup []string // shell commands around the runs
}

// DefaultEnvironments are those of a command line that names none.
var DefaultEnvironments = []string{"native", "docker", "gvisor", "vm"}

const (
	// packName is the name of the workload that is made of the command.
	packName = "command"
	// singleRuns is the number of runs in a single environment, where no verdict
	// ends them.
	singleRuns = 10
)

// Available returns those of the environments whose requirements this machine
// meets.
func Available(ctx context.Context, names []string) (available []string) {
	for _, name := range names {
		kind := study.KindOf(name)
		if r, ok := environment.Lookup(kind); ok {
			if state, _ := environment.Check(ctx, kind, r.Options()); state != environment.Missing {
				available = append(available, name)
			}
		}
	}
	return available
}

// LeftOut says why this machine does not meet the requirements of environments, in one
// line for those with the same reason.
func LeftOut(ctx context.Context, names []string) (remarks []string) {
	var reasons []string
	with := map[string][]string{}
	for _, name := range names {
		kind := study.KindOf(name)
		r, ok := environment.Lookup(kind)
		if !ok {
			continue
		}
		_, findings := environment.Check(ctx, kind, r.Options())
		for _, f := range findings {
			if f.State != environment.Missing {
				continue
			}
			reason := f.What + ": " + f.Reason
			if with[reason] == nil {
				reasons = append(reasons, reason)
			}
			with[reason] = append(with[reason], name)
		}
	}
	for _, reason := range reasons {
		remarks = append(remarks, fmt.Sprintf("left out: %s: it needs %s", strings.Join(with[reason], ", "), reason))
	}
	return remarks
}

// Mountable returns those of the environments that can have the mounts, and says why the
// others are left out.
func (o Options) Mountable(names []string) (able, remarks []string) {
	for _, name := range names {
		kind := study.KindOf(name)
		r, ok := environment.Lookup(kind)
		if !ok || len(o.Mounts) == 0 {
			able = append(able, name)
		} else if err := environment.CheckMounts(kind, r.Options()); err != nil {
			remarks = append(remarks, fmt.Sprintf("%s is left out, since --mount does not work there: %s", name, err))
		} else {
			able = append(able, name)
		}
	}
	return able, remarks
}

// Plan returns the plan of the run. Its errors are about invalid options.
func (o Options) Plan() (*study.Plan, error) {
	if len(o.Environments) == 0 {
		return nil, fmt.Errorf("none of %s works on this machine; `tare doctor` shows why", strings.Join(DefaultEnvironments, ", "))
	}
	if o.Warmup < 0 {
		return nil, fmt.Errorf("--warmup %d: must not be negative", o.Warmup)
	}
	if o.Cold && o.Fresh != "" && o.Fresh != "trial" {
		return nil, fmt.Errorf("--cold needs a fresh instance for every run, so it cannot be combined with --fresh %s", o.Fresh)
	}
	draft := study.Draft{
		Title: strings.Join(o.Argv, " "), Name: "bench", Origin: study.CommandLine,
		Use: packName, Reference: o.Image, Mounts: o.Mounts,
		Margin: o.Margin, Fresh: o.fresh(), Order: o.order(), Blocks: o.Runs,
	}
	if o.Workdir != "" && !path.IsAbs(o.Workdir) {
		return nil, fmt.Errorf("--workdir %s: must be an absolute path inside of the instances, such as /work", o.Workdir)
	}
	if o.Input != "" {
		draft.Inputs = []string{o.Input + ":" + study.DefaultInput}
	}
	variables, err := o.variables()
	if err != nil {
		return nil, err
	}
	figures, parser, err := o.figures()
	if err != nil {
		return nil, err
	}
	scanned, err := o.scanned()
	if err != nil {
		return nil, err
	}
	draft.Sweep = scanned.sweep()
	made := func() *workload.Pack {
		p := scanned.in(o.pack(variables))
		p.Metrics[0].Primary = len(figures) == 0
		p.Metrics, p.Parser = append(p.Metrics, figures...), parser
		return p
	}
	draft.Pack = made()
	if draft.Environments, err = study.ParseEnvironments(o.Environments); err != nil {
		return nil, err
	}
	first := &draft.Environments[0]
	draft.Baseline = first.Name
	if o.single() && draft.Blocks == 0 {
		draft.Blocks = singleRuns
	}
	if o.onHost() {
		first.Options = append(first.Options, study.Setting{Key: "rootfs", Value: "host"})
	}
	for _, text := range o.Secrets {
		source, err := secret.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("--secret %s: %w", text, err)
		}
		draft.Secret = append(draft.Secret, source)
	}
	// What is wrong with the options is said before the command is looked for.
	over := study.Overrides{Budget: o.Budget, Blocks: o.Runs, Seed: o.Seed}
	plan, err := draft.Resolve(over)
	if err == nil {
		draft.Packages, err = o.packages()
	}
	if err == nil && o.onHost() {
		o.Argv, err = o.onShell()
		draft.Pack = made()
		draft.Pack.Title = draft.Title
	}
	if err != nil || len(draft.Packages) == 0 && !o.onHost() {
		return plan, err
	}
	return draft.Resolve(over)
}

func (o Options) single() bool { return len(o.Environments) == 1 }

func (o Options) nativeAlone() bool {
	return o.single() && study.KindOf(o.Environments[0]) == "native"
}

// onHost reports whether the command runs in this machine's own root file system.
func (o Options) onHost() bool {
	return o.nativeAlone() && o.Image == "" && len(o.Packages) == 0
}

func (o Options) fresh() string {
	switch {
	case o.Cold:
		return "trial"
	case o.Fresh != "":
		return o.Fresh
	case o.single():
		return "run"
	}
	return "block"
}

// order is "" for the default. An exact number of runs is one of blocks with one run
// each, and what is done before each run is done once in an instance.
func (o Options) order() string {
	if o.Runs > 0 || len(o.Prepare) > 0 && !o.Cold {
		return "interleaved"
	}
	return ""
}

// packages returns the distribution packages of the image that is built.
func (o Options) packages() ([]string, error) {
	switch {
	case o.Image != "" && len(o.Packages) > 0:
		return nil, errors.New("--package adds to the image that tare builds, but --image names a finished one: use only one of them")
	case o.Image != "":
		return nil, nil
	case len(o.Packages) > 0:
		return slices.Clone(o.Packages), nil
	case !o.nativeAlone():
		return PackageOf(o.Argv[0])
	}
	return nil, nil
}

// pack returns the command as a workload; all its steps have the variables. Commands are
// the shell's: ${NAME} in them is not a parameter of a pack.
func (o Options) pack(env []string) *workload.Pack {
	dir := workload.Literal(o.Workdir)
	driver := workload.Step{Argv: lists.Map(o.Argv, workload.Literal), AnyStatus: o.AnyStatus, Env: env, Dir: dir}
	if o.Input != "" {
		driver.Stdin = study.DefaultInput
	}
	shell := func(line string) workload.Step { return workload.Step{Run: workload.Literal(line), Env: env, Dir: dir} }
	p := &workload.Pack{
		Name: packName, Title: strings.Join(o.Argv, " "), Stresses: "cpu", Cold: o.Cold, Driver: &driver,
		Metrics: []workload.Metric{
			{Name: workload.WallSeconds, Unit: "s", Better: "lower", Primary: true, About: "wall time by the instance's clock"},
			{Name: workload.UserSeconds, Unit: "s", Better: "lower", About: "CPU time of the command in user mode"},
			{Name: workload.SystemSeconds, Unit: "s", Better: "lower", About: "CPU time of the command in the kernel"},
			{Name: workload.MaxRSS, Unit: "B", Better: "lower", About: "peak memory of the command's largest process; at least that of the agent, about 4 MiB"},
		},
	}
	for _, line := range o.Setup {
		p.Begin = append(p.Begin, shell(line))
	}
	for range o.Warmup {
		p.Begin = append(p.Begin, driver)
	}
	for _, line := range o.Prepare {
		p.Setup = append(p.Setup, shell(line))
	}
	for _, line := range o.Cleanup {
		p.End = append(p.End, shell(line))
	}
	return p
}
