package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/lists"
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
	say(v.howTrialsWereMade())
	say(v.whatFailed())
	v.howAnalysed(say)
	return all
}

func (v *Report) whatWasCompared() string {
	others := lists.Map(v.Compared(), func(e Environment) string { return e.Shown })
	names := lists.Map(v.Workloads, func(w Workload) string {
		if w.Pack.Title == "" || w.Pack.Title == w.Name {
			return w.Name
		}
		return w.Name + " (" + w.Pack.Title + ")"
	})
	made := "tare " + v.Manifest.Tare
	if v.Manifest.Import != nil {
		return fmt.Sprintf("Existing results of %s in %s and %s were analysed with %s", enumerate(names), enumerate(others), v.Base.Shown, made)
	}
	if len(others) == 0 {
		return fmt.Sprintf("%s was measured with %s, under %s", v.Base.Shown, made, enumerate(names))
	}
	return fmt.Sprintf("%s measured %s in %s, compared with %s", made, enumerate(names), enumerate(others), v.Base.Shown)
}

func (v *Report) whereItRan() (all []string) {
	if v.Manifest.Import != nil {
		return nil
	}
	if m := v.Manifest.Machine; m.CPU != "" {
		which := "The machine has"
		if len(v.Manifest.Nodes) > 0 || len(v.Plan.Hosts) > 0 {
			which = "The machine that tare ran on has"
		}
		text := fmt.Sprintf("%s a CPU %s with %s and %s of memory, and ran %s with Linux %s", which, m.CPU, Counted(m.Cores, "core", "cores"), Figure(float64(m.Memory), "B"), m.Distribution, m.Kernel)
		if m.Virtualised != "" {
			text += "; it is virtualised"
		}
		all = append(all, text)
	}
	if nodes := strings.TrimSpace(v.onNodes()); nodes != "" {
		all = append(all, "The blocks ran "+nodes)
	}
	if m := v.Manifest.Image; m.Digest != "" {
		all = append(all, strings.TrimSpace("The image was "+m.Name+" ("+m.Digest+")"))
	}
	if limits := Limits(v.Plan.Limits); limits != "none" {
		all = append(all, "Instances were limited to "+limits)
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
	text := fmt.Sprintf("The environment %s is of the kind %s", e.Shown, e.Kind)
	if versions := Versions(e.Facts.Versions); versions != "" {
		text += " (" + versions + ")"
	}
	if words := e.UnusualOptions(); words != "" {
		text += ", with " + words
	}
	if e.Facts.Label == emulated {
		text += "; " + onlyEmulation
	}
	return text
}

func (v *Report) howTrialsWereMade() string {
	d := v.Plan.Design
	if v.Manifest.Import != nil || d.Order == verdict.OrderUnpaired {
		return ""
	}
	text := fmt.Sprintf("In %s, %s were made", Counted(v.Blocks, "block", "blocks"), Counted(len(v.Trials), "trial", "trials"))
	if rounds := lists.Map(lists.Filter(v.Trials, alternated), func(t rundir.Trial) int { return len(t.Rounds) }); len(rounds) > 0 {
		text += fmt.Sprintf("; in a block, samples of the environments alternated in random order, %s", verdict.Rounds{Least: slices.Min(rounds), Most: slices.Max(rounds)}.String())
	} else if d.Order == "sequential" {
		text += "; the environments ran one after another, not interleaved"
	} else {
		text += "; in a block, the environments ran close together in time, in random order"
	}
	text += " (seed " + strconv.FormatUint(v.Plan.Seed, 10) + ")"
	if !v.Manifest.Created.IsZero() {
		text += ", from " + v.Manifest.Created.UTC().Format("2 January 2006, 15:04 UTC") + " on"
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
