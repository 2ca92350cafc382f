package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/base/visible"
	"tare/internal/environment"
	"tare/internal/papers/published"
	"tare/internal/papers/score"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// takes says what sorts of things each argument of a command names.
type takes struct {
	each [][]string
	more bool // as many as you like of the last
}

var aRun = []string{"runs"}

// completed are the commands of which the shell completes names. Files stay possible, as
// most arguments can be one.
var completed = map[string]takes{
	"run": {each: [][]string{{"studies"}}}, "parity": {each: [][]string{{"studies", "runs"}}}, "save": {each: [][]string{{"studies"}, {}}},
	"report": {each: [][]string{aRun}}, "score": {each: [][]string{aRun}}, "check": {each: [][]string{aRun}}, "pack": {each: [][]string{aRun}},
	"rerun": {each: [][]string{aRun}}, "compare": {each: [][]string{aRun, aRun}}, "rm": {each: [][]string{aRun}, more: true},
	"show":    {each: [][]string{{"runs", "studies", "environments", "workloads"}}},
	"explain": {each: [][]string{{"workloads"}}}, "workload check": {each: [][]string{{"workloads"}}},
	"published": {each: [][]string{{"published"}}}, "replicate": {each: [][]string{{"published"}, aRun}, more: true},
}

// completedFlags are the flags of all commands whose values are names.
var completedFlags = map[string][]string{
	"env": {"environments"}, "environment": {"environments"}, "from": {"environments"}, "to": {"environments"}, "via": {"environments"},
	"only": {"environments", "workloads"}, "workload": {"workloads"}, "metric": {"metrics"}, "study": {"studies"}, "scale": {"scales"},
	"resume": {"runs"}, "of": {"runs"}, "into": {"runs"}, "score": {"profiles"}, "profile": {"profiles"}, "against": {"published"}, "figures": {"published"},
	"fresh": {"freshness"}, "better": {"directions"},
}

// addCompletions lets the shell complete names below c; path is that of c, without tare.
func addCompletions(app *App, c *cobra.Command, path string) {
	if t, named := completed[path]; named {
		c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			at := len(args)
			if at >= len(t.each) {
				if !t.more {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				at = len(t.each) - 1
			}
			return without(app.names(c, args, t.each[at]), args), cobra.ShellCompDirectiveKeepOrder
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		sorts := completedFlags[f.Name]
		if sorts == nil {
			return
		}
		_, isList := f.Value.(pflag.SliceValue)
		// A flag that has its own completion keeps it.
		_ = c.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			names, before := app.names(c, args, sorts), ""
			if isList { // the last one is completed
				before = word[:strings.LastIndexByte(word, ',')+1]
				names = without(names, strings.Split(before, ","))
			}
			for i, n := range names {
				names[i] = before + n
			}
			return names, cobra.ShellCompDirectiveKeepOrder
		})
	})
	for _, below := range c.Commands() {
		addCompletions(app, below, strings.TrimSpace(path+" "+below.Name()))
	}
}

// without are the completions but for what is there already.
func without(names, given []string) []string {
	return slices.DeleteFunc(names, func(n string) bool {
		name, _, _ := strings.Cut(n, "\t")
		return slices.Contains(given, name)
	})
}

// names are the completions of sorts of things, each with a description after a tab.
// Where the command line names a study, they are those of the study.
func (a *App) names(c *cobra.Command, args []string, sorts []string) (names []string) {
	plan := planOf(c, args)
	for _, sort := range sorts {
		switch sort {
		case "runs":
			names = append(names, a.runNames()...)
		case "studies":
			names = append(names, study.Names()...)
		case "environments":
			if plan != nil {
				for _, e := range plan.Environments {
					names = append(names, e.Name)
				}
				continue
			}
			for _, kind := range environment.Kinds() {
				r, _ := environment.Lookup(kind)
				names = append(names, cobra.CompletionWithDesc(kind, r.About))
			}
			names = append(names, cobra.CompletionWithDesc("vm", "short for qemu"))
		case "workloads":
			if plan != nil {
				for _, w := range plan.Workloads {
					names = append(names, cobra.CompletionWithDesc(w.Name, w.Pack.Title))
				}
				continue
			}
			for _, p := range builtinPacks() {
				names = append(names, cobra.CompletionWithDesc(p.Name, p.Title))
			}
		case "metrics":
			names = append(names, metricNames(c)...)
		case "scales":
			if plan != nil {
				names = append(names, plan.Scales...)
			}
		case "profiles":
			names = append(names, score.Names()...)
		case "published":
			names = append(names, published.Names()...)
		case "freshness":
			names = append(names, "trial", "block", "run")
		case "directions":
			names = append(names, "lower", "higher")
		}
	}
	return names
}

// completedRuns is how many runs are offered, the newest first.
const completedRuns = 100

func (a *App) runNames() (names []string) {
	runs, _, _ := rundir.Newest(run.Runs(a.Home), completedRuns) // none, where they cannot be read
	for _, r := range runs {
		name := filepath.Base(r.Directory)
		if visible.Line(name) == name {
			names = append(names, cobra.CompletionWithDesc(name, visible.Line(r.Plan.Study)))
		}
	}
	return names
}

// planOf is the plan of the study that the command line names: with --study, or as the
// argument; nil without one.
func planOf(c *cobra.Command, args []string) *study.Plan {
	name := ""
	if f := c.Flags().Lookup("study"); f != nil {
		name = f.Value.String()
	} else if t := completed[c.Name()]; len(args) > 0 && len(t.each) > 0 && slices.Contains(t.each[0], "studies") {
		name = args[0]
	}
	if name == "" {
		return nil
	}
	plan, err := study.Open(name, study.Overrides{})
	if err != nil {
		return nil
	}
	return plan
}

func builtinPacks() (packs []*workload.Pack) {
	for _, name := range workload.Names() {
		if p, err := workload.Builtin(name); err == nil {
			packs = append(packs, p)
		}
	}
	return packs
}

// metricNames are the metrics that `tare import --metric` takes: those of the pack of
// --tool, or of all.
func metricNames(c *cobra.Command) (names []string) {
	tool := ""
	if f := c.Flags().Lookup("tool"); f != nil {
		tool = f.Value.String()
	}
	packs := builtinPacks()
	if p, err := workload.Builtin(tool); err == nil {
		packs = []*workload.Pack{p}
	}
	for _, p := range packs {
		for _, m := range p.Metrics {
			names = append(names, cobra.CompletionWithDesc(m.Name+":"+m.Better, m.About))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
