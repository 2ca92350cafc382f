package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
)

// Machines says what the CPU time of operations means for the number of machines, where the
// CPU is what they run out of; "" where that is not known. Emulation is left out: its cost
// is not that of a layer in use.
func (v *Report) Machines(e *Environment) string {
	if environment.Emulated(e.Facts.Label) {
		return ""
	}
	return v.costs(e, cost.CPU, "CPU time for the same load", func(c *verdict.Contrast) string {
		switch ratio := math.Exp(c.Estimate); {
		case c.Verdict == verdict.Equivalent:
			return "about as many machines where the CPU is the limit"
		case ratio >= 2:
			return Digits(ratio) + " times the machines where the CPU is the limit"
		default:
			return fmt.Sprintf("%.0f%% %s machines where the CPU is the limit", 100*math.Abs(ratio-1), map[bool]string{true: "more", false: "fewer"}[ratio > 1])
		}
	})
}

// Money says what operations cost by the study's prices; "" without prices.
func (v *Report) Money(e *Environment) string {
	if v.Plan.Price == nil || environment.Emulated(e.Facts.Label) {
		return ""
	}
	return v.costs(e, cost.Money, "cost of the same load", func(c *verdict.Contrast) string {
		return Figure(c.Values.Median, c.Unit) + ", " + Figure(c.Base.Median, c.Unit) + " in " + v.Base.Shown
	})
}

// costs says how a cost of operations changes: with its interval where it is decided at one
// place, with the range over several, which need not mean the same. What it means is said of
// a service alone: nobody buys machines for a benchmark of system calls.
func (v *Report) costs(e *Environment, metric, what string, meaning func(*verdict.Contrast) string) string {
	type at struct {
		place string
		*verdict.Contrast
	}
	var decided []at
	for _, r := range v.Rows() {
		if r.Metric.Name != metric {
			continue
		}
		c := r.Metric.Cell(e.Name).Contrast
		if c != nil && ConfoundMark(c) == "" && slices.Contains([]verdict.Verdict{verdict.Slower, verdict.Faster, verdict.Equivalent}, c.Verdict) {
			decided = append(decided, at{r.Title(), c})
		}
	}
	if len(decided) == 0 {
		return ""
	}
	larger := func(a, b at) int { return cmp.Compare(a.Estimate, b.Estimate) }
	least, most := slices.MinFunc(decided, larger), slices.MaxFunc(decided, larger)
	text := fmt.Sprintf("%s: %s in %s", what, sized(most.Contrast), most.place)
	if len(decided) > 1 {
		text = fmt.Sprintf("%s: from %s in %s to %s in %s", what, EstimateText(least.Contrast), least.place, sized(most.Contrast), most.place)
	}
	if services := lists.Filter(decided, func(a at) bool { return v.serves(a.Workload) }); len(services) > 0 {
		service := slices.MaxFunc(services, larger)
		if service != most {
			text += "; " + EstimateText(service.Contrast) + " in " + service.place
		}
		text += ", so " + meaning(service.Contrast)
	}
	if len(decided) > 1 {
		text += v.mean(e, metric)
	}
	return text
}

// serves tells whether a workload is a service under load.
func (v *Report) serves(workload string) bool {
	return slices.ContainsFunc(v.Plan.Workloads, func(w study.Workload) bool { return w.Name == workload && len(w.Pack.Servers) > 0 })
}

// mean is the geometric mean of a metric over all places that have it; "" where a comparison
// means nothing.
func (v *Report) mean(e *Environment, metric string) string {
	own := lists.Filter(v.Contrasts, func(c verdict.Contrast) bool { return c.Metric == metric })
	if slices.ContainsFunc(own, func(c verdict.Contrast) bool { return c.Environment == e.Name && c.Withheld() }) {
		return ""
	}
	means := verdict.Geomeans(own)
	if i := slices.IndexFunc(means, func(g verdict.Geomean) bool { return g.Environment == e.Name }); i >= 0 {
		return fmt.Sprintf("; geomean of %d: %s", means[i].Places, Change(means[i].Log))
	}
	return ""
}

// sized is a change with its interval and the number of its blocks.
func sized(c *verdict.Contrast) string {
	text := EstimateText(c)
	if interval := IntervalText(c); interval != "" {
		text += " " + interval
	}
	if c.Unpaired || c.Verdict == verdict.Inconclusive {
		return text + ", " + BlockCount(c)
	}
	return fmt.Sprintf("%s, n=%d", text, c.N)
}

// undecided are the primary comparisons with an environment that could have a verdict, and
// have none.
func (v *Report) undecided(e *Environment) []*verdict.Contrast {
	var all []*verdict.Contrast
	for _, r := range v.Primary() {
		c := r.Metric.Cell(e.Name).Contrast
		if c != nil && !c.Unpaired && (c.Verdict == verdict.Inconclusive || c.Verdict == verdict.None && !c.Withheld() && c.N > 0 && c.N < stats.LeastBlocks) {
			all = append(all, c)
		}
	}
	return all
}

// Undecided says what has no verdict in an environment, and why; "" if nothing.
func (v *Report) Undecided(e *Environment) string {
	all := v.undecided(e)
	if len(all) == 0 {
		return ""
	}
	few, wide, far := 0, 0, 0
	least, most := math.MaxInt, 0
	for _, c := range all {
		switch {
		case c.N < stats.LeastBlocks:
			few++
		case c.Projection > c.N && c.Projection <= verdict.FarAway:
			wide++
			least, most = min(least, c.Projection), max(most, c.Projection)
		default:
			far++
		}
	}
	type cause struct {
		n   int
		why string
	}
	needed := fmt.Sprintf("~%d", least)
	if most > least {
		needed += fmt.Sprintf(" to ~%d", most)
	}
	causes := lists.Filter([]cause{
		{few, fmt.Sprintf("too few blocks, of which an interval takes at least %d", stats.LeastBlocks)},
		{wide, fmt.Sprintf("the blocks vary, so that a verdict takes %s of them", needed)},
		{far, "the blocks vary too much for any number of them in reach"},
	}, func(c cause) bool { return c.n > 0 })
	why := lists.Map(causes, func(c cause) string {
		if len(causes) == 1 {
			return c.why
		}
		return fmt.Sprintf("in %d %s", c.n, c.why)
	})
	return fmt.Sprintf("%s undecided: %s", quantity.Counted(len(all), "comparison", "comparisons"), strings.Join(why, "; "))
}

// LargestPart is the material part of a ladder that changes a primary metric most; "" where
// no part is, or there is no ladder.
func (v *Report) LargestPart() string {
	for _, a := range v.MainAttributions() {
		var largest *analysis.Share
		for i := range a.Parts {
			if s := &a.Parts[i]; s.Material && !s.Rest() && (largest == nil || math.Abs(s.Contrast.Estimate) > math.Abs(largest.Contrast.Estimate)) {
				largest = s
			}
		}
		if largest == nil {
			continue
		}
		text := fmt.Sprintf("largest part of the way from %s to %s, in %s, %s: %s, %s", v.ShownName(a.From), v.ShownName(a.To), LevelTitle(a.Workload, a.Level), a.Title(), largest.Name, sized(&largest.Contrast))
		if largest.Of != nil {
			text += ", " + analysis.Percent(*largest.Of) + " of the whole"
		}
		return text
	}
	return ""
}

// Health is the state of the machine during the run in one line; "" for an import.
func (v *Report) Health() string {
	if v.Manifest.Import != nil {
		return ""
	}
	var parts []string
	for _, f := range v.Manifest.Noise {
		if f.Reason != "" && f.State != environment.Usable {
			parts = append(parts, f.Reason)
		}
	}
	if len(parts) == 0 {
		parts = []string{"no source of noise was found before the run"}
	}
	canaries, waited := map[int]float64{}, []float64{}
	for _, t := range v.Trials {
		if t.Pressure == nil {
			continue
		}
		if s := t.Pressure.CanarySeconds; s != nil && *s > 0 {
			canaries[t.Block] = *s
		}
		if t.Pressure.CPU != nil {
			waited = append(waited, *t.Pressure.CPU)
		}
	}
	if len(canaries) > 1 {
		least, most := math.Inf(1), 0.0
		for _, s := range canaries {
			least, most = min(least, s), max(most, s)
		}
		parts = append(parts, fmt.Sprintf("its speed varied by %s over %d blocks", Percent(most/least-1), len(canaries)))
	}
	if len(waited) > 0 {
		parts = append(parts, fmt.Sprintf("some task waited for a CPU in %s of the time", Percent(stats.Median(waited))))
	}
	if stolen := lists.Map(v.Stolen, func(s Stolen) float64 { return s.Share }); len(stolen) > 0 && slices.Max(stolen) >= .005 {
		parts = append(parts, "the hypervisor took up to "+Percent(slices.Max(stolen))+" of a core")
	}
	return strings.Join(parts, "; ")
}

// Step is a command, and what it is for.
type Step struct{ Command, Does string }

// mostBlocks is the largest number of blocks that Next proposes: where it takes more, a
// quieter machine saves more time.
const mostBlocks = 100

// Next is the one command to go on with: it finishes the run, removes what makes its
// comparisons unfair, decides what is open, or says where a difference comes from. An import
// has none.
func (v *Report) Next() (Step, bool) {
	if v.Manifest.Import != nil {
		return Step{}, false
	}
	name := v.Manifest.Run
	if state, _ := v.Manifest.State(); state == rundir.Interrupted || state == rundir.NotEnded {
		command := "run"
		if len(v.Plan.Steps) > 0 {
			command = "explain"
		}
		return Step{"tare " + command + " --resume " + commandLine([]string{name}), "the rest of the run; what was measured is kept"}, true
	}
	if v.marked() {
		return Step{"tare parity " + commandLine([]string{name}), "what else differs, and how to remove it"}, true
	}
	if len(v.Contrasts) == 0 && len(v.Skipped) > 0 {
		return Step{"tare", "the one command that adds environments, so that there is something to compare"}, true
	}
	open, blocks := 0, 0
	var slowest *verdict.Contrast
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung {
			continue
		}
		for _, c := range v.undecided(e) {
			open++
			switch {
			case c.N < stats.LeastBlocks:
				blocks = max(blocks, stats.LeastBlocks)
			case c.Projection > c.N:
				blocks = max(blocks, c.Projection)
			default:
				blocks = math.MaxInt
			}
		}
		if c, _ := v.largest(e, string(verdict.Slower)); c != nil && (slowest == nil || costOf(c) > costOf(slowest)) {
			slowest = c
		}
	}
	if again := v.again(blocks); open > 0 && blocks <= mostBlocks && again != "" {
		return Step{again, fmt.Sprintf("the blocks that the %s likely take", quantity.Counted(open, "undecided comparison", "undecided comparisons"))}, true
	}
	if open > 0 {
		return Step{"tare doctor", "what disturbs this machine, and its fix: fewer blocks decide on a quiet one"}, true
	}
	if slowest != nil && len(v.Plan.Steps) == 0 {
		if study := v.studyArgument(); study != "" {
			return Step{"tare explain " + commandLine([]string{slowest.Workload, "--study", study, "--from", v.Plan.Baseline, "--to", slowest.Environment}), "which part of the layer costs that"}, true
		}
	}
	return Step{"tare report " + commandLine([]string{name}), "the page with every trial and the conditions"}, true
}

// studyArgument is the study as the run was told to find it; "" where it was not `tare run`.
func (v *Report) studyArgument() string {
	if c := v.Manifest.Command; len(c) > 2 && c[1] == "run" && !strings.HasPrefix(c[2], "-") {
		return c[2]
	}
	return ""
}

// again is the command of the run for so many blocks; "" where it has no such form.
func (v *Report) again(blocks int) string {
	c := v.Manifest.Command
	if len(c) < 3 || !slices.Contains([]string{"run", "explain"}, c[1]) || slices.Contains(c, "--resume") {
		return ""
	}
	words := []string{"tare", c[1]}
	for i := 2; i < len(c); i++ {
		switch flag, _, joined := strings.Cut(c[i], "="); {
		case !slices.Contains([]string{"--budget", "--blocks", "--out", "-o", "--seed", "--listen"}, flag):
			words = append(words, c[i])
		case !joined:
			i++
		}
	}
	return commandLine(append(words, "--blocks", fmt.Sprint(blocks)))
}
