package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/verdict"
)

// Parts say which part of a layer costs most, where a ladder was run: in this run, or in
// another one of the same machine.
func (v *Report) Parts() []string {
	if own := v.LargestPart(); own != "" {
		return []string{own}
	}
	return lists.Map(v.Explained, func(e Explained) string { return e.Says + " (run " + e.Run + ")" })
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

// noisyFrom is from how much the speed of the machine varies that it counts as noisy, loudFrom
// that sizes mean little, and stolenFrom from which share of a core that a hypervisor takes.
const noisyFrom, loudFrom, stolenFrom = .1, .5, .01

// varied is by how much the speed of the machine varied, over so many blocks.
func (v *Report) varied() (share float64, blocks int) {
	canaries := map[int]float64{}
	for _, t := range v.Trials {
		if t.Pressure != nil && t.Pressure.CanarySeconds != nil && *t.Pressure.CanarySeconds > 0 {
			canaries[t.Block] = *t.Pressure.CanarySeconds
		}
	}
	if len(canaries) < 2 {
		return 0, len(canaries)
	}
	speeds := slices.Sorted(maps.Values(canaries))
	return speeds[len(speeds)-1]/speeds[0] - 1, len(canaries)
}

// Health is the state of the machine during the run in one line, and how wide its intervals
// are for it; "" for an import.
func (v *Report) Health() string {
	if v.Manifest.Import != nil {
		return ""
	}
	word := ""
	var parts []string
	varied, blocks := v.varied()
	if blocks > 1 {
		if word = "calm: "; varied >= noisyFrom {
			word = "noisy: "
		}
		parts = append(parts, fmt.Sprintf("its speed varied by %s over %d blocks", Percent(varied), blocks))
	}
	if stolen := lists.Map(v.Stolen, func(s Stolen) float64 { return s.Share }); len(stolen) > 0 && slices.Max(stolen) >= stolenFrom {
		word = "noisy: "
		parts = append(parts, "the hypervisor took up to "+Percent(slices.Max(stolen))+" of a core")
	}
	for _, f := range v.Manifest.Noise {
		if f.Reason != "" && f.State != environment.Usable {
			parts = append(parts, f.Reason)
		}
	}
	if len(parts) == 0 {
		parts = []string{"no source of noise was found before the run"}
	}
	return strings.Join(append([]string{word + strings.Join(parts, "; ")}, v.widths()...), ". ")
}

// widths says how wide the intervals of this run are. Those of emulation are left out, whose
// differences are far larger.
func (v *Report) widths() []string {
	var halves []float64
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung || environment.Emulated(e.Facts.Label) {
			continue
		}
		for _, c := range comparisons(e, v.Primary()) {
			if c.Bounded() && !c.Unpaired {
				halves = append(halves, math.Expm1((c.High-c.Low)/2))
			}
		}
	}
	switch len(halves) {
	case 0:
		return nil
	case 1:
		return []string{"Its interval is ±" + Percent(halves[0])}
	}
	return []string{fmt.Sprintf("Half of its %d intervals are wider than ±%s", len(halves), Percent(stats.Median(halves)))}
}

// Step is a command, and what it is for.
type Step struct{ Command, Does string }

// mostBlocks is the largest number of blocks that Next proposes: where it takes more, a
// quieter machine saves more time.
const mostBlocks = 100

// Next is the one command to go on with: it finishes the run, repeats it where the machine was
// too loud to decide, removes what makes its comparisons unfair, decides what is open of a
// service, says where its difference comes from, or decides the rest. An import has none.
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
	if len(v.Contrasts) == 0 && len(v.Skipped) > 0 {
		return Step{"tare", "the one command that adds environments, so that there is something to compare"}, true
	}
	var open []placed
	unfair := false
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung || environment.Emulated(e.Facts.Label) {
			continue // the cost of an emulated guest is not that of a layer in use
		}
		open = append(open, v.undecided(e)...)
		unfair = unfair || slices.ContainsFunc(comparisons(e, v.Primary()), func(c placed) bool { return c.Confounded() && !c.Withheld() })
	}
	if varied, _ := v.varied(); varied >= loudFrom && len(open) > 0 {
		if again, is := v.Repeat(); is {
			again.Does = "when nothing else runs here: the machine was too noisy for sizes"
			return again, true
		}
	}
	if unfair {
		return Step{"tare parity " + commandLine([]string{name}), "what else differs, and how to remove it"}, true
	}
	if next, is := v.decide(lists.Filter(open, func(c placed) bool { return v.serves(c.Row.Workload.Name) })); is {
		return next, true
	}
	if next, is := v.Explain(); is {
		return next, true
	}
	if next, is := v.decide(open); is {
		return next, true
	}
	if len(open) > 0 {
		return Step{"tare doctor", "what disturbs this machine, and its fix: fewer blocks decide on a quiet one"}, true
	}
	return Step{"tare report " + commandLine([]string{name}), "the page with every trial and the conditions"}, true
}

// Explain is the command that says which part of a layer costs most, of the service that is
// slowed down most, or of other work; none where that is known. The cost of an emulated guest
// is not that of a layer in use.
func (v *Report) Explain() (Step, bool) {
	var slowest *placed
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung || environment.Emulated(e.Facts.Label) {
			continue
		}
		for _, c := range comparisons(e, v.Primary()) {
			if c.Verdict == verdict.Slower && !v.explained(c.Contrast) && (slowest == nil || v.rank(c) > v.rank(*slowest)) {
				slowest = &c
			}
		}
	}
	study := v.studyArgument()
	if slowest == nil || len(v.Plan.Steps) > 0 || study == "" {
		return Step{}, false
	}
	c := slowest.Contrast
	return Step{"tare explain " + commandLine([]string{c.Workload, "--study", study, "--from", v.Plan.Baseline, "--to", c.Environment, "--budget", "5m"}), "which part of the layer costs that"}, true
}

// rank puts services first, and then what costs most.
func (v *Report) rank(c placed) float64 {
	rank := costOf(c.Contrast)
	if v.serves(c.Row.Workload.Name) {
		rank += 1000 // more than any log ratio
	}
	return rank
}

// decide is the command for the blocks that open comparisons likely take, if they are in
// reach.
func (v *Report) decide(open []placed) (Step, bool) {
	if len(open) == 0 {
		return Step{}, false
	}
	blocks := slices.Max(lists.Map(open, placed.takes))
	again := v.again(blocks)
	return Step{again, fmt.Sprintf("the blocks that the %s likely take", quantity.Counted(len(open), "undecided comparison", "undecided comparisons"))}, blocks <= mostBlocks && again != ""
}

// explained reports whether another run says which part of a layer costs a workload most.
func (v *Report) explained(c *verdict.Contrast) bool {
	return slices.ContainsFunc(v.Explained, func(e Explained) bool { return e.Workload == c.Workload && e.Environment == c.Environment })
}

// Repeat is the command that makes the same run again; an import, and a run that is not
// over, have none.
func (v *Report) Repeat() (Step, bool) {
	if _, over := v.Manifest.Over(); v.Manifest.Import != nil || !over {
		return Step{}, false
	}
	return Step{"tare rerun " + commandLine([]string{v.Manifest.Run}), "the same plan, seed and images"}, true
}

// Term is a sign or a word that a report uses, and what it means.
type Term struct{ Name, Means string }

// Terms explain what stands beside the figures of this run, as far as it has it.
func (v *Report) Terms() (terms []Term) {
	if v.Plan.Design.Order != verdict.OrderUnpaired && len(v.Contrasts) > 0 {
		risk := quantity.Share(1 - v.Plan.Design.Confidence)
		terms = append(terms, Term{"n", fmt.Sprintf("blocks with a value on both sides; the chance of a verdict of a difference that is not there is at most %s per metric, at any n", risk)})
	}
	if slices.ContainsFunc(v.Contrasts, func(c verdict.Contrast) bool { return c.Leaning != "" && (c.Primary || c.Metric == companion) }) {
		terms = append(terms, Term{"leaning", "the interval excludes zero, but all comparisons of a metric share the error: no verdict yet"})
	}
	if slices.ContainsFunc(v.Layers(), func(l Layer) bool {
		return slices.ContainsFunc(l.Services, func(text string) bool { return strings.Contains(text, notDecided) })
	}) {
		terms = append(terms, Term{"undecided", "this run cannot tell yet: an interval by itself may exclude zero, but not at the level that all comparisons of a metric share"})
	}
	if v.marked() {
		terms = append(terms, Term{Mark, strings.TrimPrefix(MarkMeans, Mark+" ")})
	}
	if v.Plan.Price == nil && slices.ContainsFunc(v.Layers(), func(l Layer) bool { return len(l.Services) > 0 && l.CPU != "" }) {
		terms = append(terms, Term{"money", "not computed; add price: to the study"})
	}
	return terms
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
