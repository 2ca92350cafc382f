package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// Statement is a sentence about how a run was made, with the sources of what it names.
type Statement struct {
	Text  string // without a full stop
	Cites []Reference
}

// Methods is how the run was made and analysed, for the section of a paper. Each
// statement is a fact of this run: what was not recorded is not said.
func (v *Report) Methods() []Statement {
	var all []Statement
	say := func(text string, cites ...Reference) {
		if text != "" {
			all = append(all, Statement{text, cites})
		}
	}
	say(v.whatWasCompared(), v.software())
	for _, text := range v.whereItRan() {
		say(text)
	}
	for _, e := range v.Environments {
		say(v.howEnvironmentsRan(e))
	}
	for _, text := range v.whatElseDiffered() {
		say(text)
	}
	for _, text := range v.howTrialsWereMade() {
		say(text)
	}
	say(v.whatFailed())
	v.howAnalysed(say)
	return all
}

func (v *Report) whatWasCompared() string {
	others := lists.Map(v.Compared(), func(e Environment) string { return e.Shown })
	made := "tare " + v.Manifest.Tare
	if v.Manifest.Import != nil {
		names := lists.Map(v.Workloads, func(w Workload) string { return w.Name })
		text := fmt.Sprintf("%s of %s in %s were analysed with %s", Counted(len(v.Trials), "existing result", "existing results"), enumerate(names), enumerate(append([]string{v.Base.Shown}, others...)), made)
		if len(others) > 0 {
			text += "; " + v.Base.Shown + " is the baseline"
		}
		return text
	}
	names := lists.Map(v.Workloads, func(w Workload) string {
		if w.Pack.Title == "" || w.Pack.Title == w.Name {
			return w.Name
		}
		return w.Name + " (" + ownParentheses.ReplaceAllString(w.Pack.Title, ", $1") + ")"
	})
	if len(others) == 0 {
		return fmt.Sprintf("%s measured %s in %s", made, enumerate(names), v.Base.Shown)
	}
	return fmt.Sprintf("%s measured %s in %s, compared with %s", made, enumerate(names), enumerate(others), v.Base.Shown)
}

// ownParentheses are those at the end of a title, which is put in parentheses itself.
var ownParentheses = regexp.MustCompile(` \(([^()]*)\)$`)

func (v *Report) whereItRan() (all []string) {
	if m := v.Manifest.Import; m != nil {
		all = append(all, "tare did not observe how they were produced")
		if m.Machine != "" {
			all = append(all, "Where, according to the import: "+m.Machine)
		}
		return all
	}
	if m := v.Manifest.Machine; m.CPU != "" {
		which := "The machine had"
		if len(v.Manifest.Nodes) > 0 || len(v.Plan.Hosts) > 0 {
			which = "The machine that tare ran on had"
		}
		what := m.CPU
		if m.Virtualised != "" {
			what += ", virtualised"
		}
		all = append(all, fmt.Sprintf("%s %s and %s of memory (%s), and ran %s with Linux %s", which, Counted(m.Cores, "core", "cores"), Figure(float64(m.Memory), "B"), what, m.Distribution, m.Kernel))
	}
	if nodes := strings.TrimSpace(v.onNodes()); nodes != "" {
		all = append(all, "The blocks ran "+nodes)
	}
	if m := v.Manifest.Image; m.Digest != "" {
		which := "The image was "
		if len(v.Plan.Images) > 0 && !slices.Contains(v.Plan.ImageNames(false), "") {
			which = "The image of roles on the host was "
		}
		all = append(all, strings.TrimSpace(which+m.Name+" ("+m.Digest+")"))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Manifest.Images)) {
		m := v.Manifest.Images[name]
		all = append(all, strings.TrimSpace("The image of "+v.Plan.UsersOf(name)+" was "+m.Name+" ("+m.Digest+")"))
	}
	if limits := Limits(v.Plan.Limits); limits != "none" {
		all = append(all, "The limits of each instance were "+limits)
	}
	return all
}

func (v *Report) howEnvironmentsRan(e Environment) string {
	if e.Rung || v.Manifest.Import != nil {
		return ""
	}
	if !e.Ran() {
		return "The environment " + e.Shown + " did not run on this machine"
	}
	what := "The environment " + e.Shown
	if e.Kind != e.Name {
		what += ", of the kind " + e.Kind + ","
	}
	var parts []string
	if versions := Versions(e.Facts.Versions); versions != "" {
		parts = append(parts, "used "+enumerate(strings.Split(versions, ", ")))
	}
	if words := e.UnusualOptions(); words != "" {
		parts = append(parts, "had the options "+words)
	}
	if len(parts) == 0 {
		parts = []string{"ran with the defaults of its kind"}
	}
	text := what + " " + strings.Join(parts, " and ")
	if e.Facts.Label == emulated {
		text += "; " + onlyEmulation
	}
	return text
}

// whatElseDiffered names the confounds of each environment.
func (v *Report) whatElseDiffered() (all []string) {
	found := map[[2]string][]string{}
	var pairs [][2]string
	for _, c := range v.Parity {
		pair := [2]string{c.Environment, c.Baseline}
		for _, f := range c.Confounds() {
			if found[pair] == nil {
				pairs = append(pairs, pair)
			}
			if !slices.Contains(found[pair], f.Finding) {
				found[pair] = append(found[pair], f.Finding)
			}
		}
	}
	for _, p := range pairs {
		all = append(all, fmt.Sprintf("Besides the isolation layer, %s differed from %s in %s, which can affect at least one of the workloads", v.ShownName(p[0]), v.ShownName(p[1]), enumerate(found[p])))
	}
	return all
}

func (v *Report) howTrialsWereMade() (all []string) {
	d := v.Plan.Design
	if v.Manifest.Import != nil || d.Order == verdict.OrderUnpaired {
		return nil
	}
	all = append(all, v.plannedBlocks())
	text := fmt.Sprintf("In %s, %s were made", Counted(v.Blocks, "block", "blocks"), Counted(len(v.Trials), "trial", "trials"))
	if !v.Manifest.Created.IsZero() {
		text += ", from " + v.Manifest.Created.UTC().Format("2 January 2006, 15:04 UTC") + " on"
	}
	seed := " (seed " + strconv.FormatUint(v.Plan.Seed, 10) + ")"
	if rounds := lists.Map(lists.Filter(v.Trials, alternated), func(t rundir.Trial) int { return len(t.Rounds) }); len(rounds) > 0 {
		text += fmt.Sprintf("; in a block, samples of the environments alternated in random order%s, %s", seed, verdict.Rounds{Least: slices.Min(rounds), Most: slices.Max(rounds)}.String())
	} else if d.Order == "sequential" {
		text += "; the environments ran one after another, not interleaved" + seed
	} else {
		text += "; in a block, the environments ran close together in time, in random order" + seed
	}
	all = append(all, text)
	fresh := map[string][]string{}
	for _, w := range v.Plan.Workloads {
		fresh[w.Fresh] = append(fresh[w.Fresh], w.Name)
	}
	for _, how := range []string{"trial", "block", "run"} {
		if names := fresh[how]; len(names) > 0 {
			text := "Instances were fresh in each " + how
			if how == "run" {
				text = "The same instances were used in the whole run"
			}
			if len(names) < len(v.Plan.Workloads) {
				text += " for " + enumerate(names)
			}
			all = append(all, text)
		}
	}
	return all
}

// plannedBlocks is the rule by which a run stopped.
func (v *Report) plannedBlocks() string {
	d := v.Plan.Design
	if d.Blocks.Fixed {
		return "The run was planned for " + Counted(d.Blocks.Max, "block", "blocks")
	}
	text := fmt.Sprintf("The run was planned for %d to %d blocks", d.Blocks.Min, d.Blocks.Max)
	if d.Blocks.Open {
		text = "The run was planned for at least " + Counted(d.Blocks.Min, "block", "blocks")
	}
	if d.Budget > 0 {
		text += " in at most " + strings.Replace(d.Budget.String(), "m0s", "m", 1)
	}
	// In these designs the verdicts end nothing (schedule).
	if d.Order == "sequential" || d.Drop == "never" && len(v.Plan.Environments) > 1 {
		return text
	}
	text += ", to end earlier with a verdict on each primary metric"
	if d.Drop == "decided" {
		text += "; an environment with all its verdicts ran no further"
	}
	return text
}

func (v *Report) whatFailed() string {
	var parts []string
	if v.Bad > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", v.Bad))
	}
	if v.Out > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", v.Out))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Of %s, %s; they have no values", Counted(len(v.Trials), "trial", "trials"), enumerate(parts))
}

// howAnalysed says which procedure gave the intervals and verdicts, if there are any.
func (v *Report) howAnalysed(say func(string, ...Reference)) {
	d := v.Plan.Design
	bounded := slices.ContainsFunc(v.Contrasts, func(c verdict.Contrast) bool { return c.Bounded() && !c.Unpaired })
	switch {
	case d.Order == verdict.OrderUnpaired:
		say("The results are not paired: the two-sample Hodges-Lehmann shift of their logarithms is given with the interval of the Mann-Whitney test, and no verdict", hodgesLehmann, mannWhitney)
		return
	case !bounded:
		say("There are too few blocks for an interval: only medians and ranges of the ratios of the blocks are given")
		return
	}
	say("The effect on a metric is the Hodges-Lehmann estimate over the blocks, of the logarithm of the ratio to "+v.Base.Shown+" in the same block", hodgesLehmann)
	switch confidence := d.Confidence.String(); {
	case d.Blocks.Open:
		say("Its "+confidence+" interval holds at any number of blocks: it inverts an e-process of signed sequential ranks", reynolds, robbins)
	case d.Blocks.Fixed:
		say("Its "+confidence+" interval is that of Wilcoxon's signed-rank statistic, from one analysis after the last block", wilcoxon)
	default:
		say("Its "+confidence+" interval is that of Wilcoxon's signed-rank statistic, and holds simultaneously at all interim analyses of a group-sequential procedure with the same level at each", wilcoxon, pocock)
	}
	enough := 9 // for a signed-rank interval at the level of an interim analysis
	if d.Blocks.Fixed {
		enough = 6
	}
	if !d.Blocks.Open && slices.ContainsFunc(v.Contrasts, func(c verdict.Contrast) bool { return c.Bounded() && c.IntervalN < enough }) {
		say("Where there are too few blocks for that, it is their range, extended at both ends", lanke)
	}
	if most := slices.MaxFunc(v.Contrasts, func(a, b verdict.Contrast) int { return a.Family - b.Family }).Family; most > 1 && !d.Blocks.Fixed {
		say(fmt.Sprintf("The error rate is shared by the contrasts of a %s, up to %d", d.Family, most), dunn)
	}
	say("Environments are called equivalent if the difference lies within a margin of "+d.Margin.String()+" by two one-sided tests", schuirmann)
	if slices.ContainsFunc(v.Contrasts, func(c verdict.Contrast) bool { return c.Nodes != nil }) {
		say("Whether nodes differ is tested with random permutations of the blocks, and the variance between them is that of Paule and Mandel", kruskalWallis, pauleMandel)
	}
	if len(v.Why) > 0 {
		say(fmt.Sprintf("The difference between %s and %s is divided by environments that each switch on one more part of the isolation layer; the intervals of all parts hold simultaneously", v.ShownName(v.Why[0].From), v.ShownName(v.Why[0].To)))
	}
}

// enumerate is a list in words: a, b and c.
func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// References are the sources that the methods of the run cite, each once: tare first.
func (v *Report) References() (all []Reference) {
	for _, s := range v.Methods() {
		for _, r := range s.Cites {
			if !slices.ContainsFunc(all, func(known Reference) bool { return known.Key == r.Key }) {
				all = append(all, r)
			}
		}
	}
	return all
}
