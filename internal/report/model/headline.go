package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/verdict"
)

// onlyEmulation is the caution for every environment with that label.
const onlyEmulation = "this guest ran under software emulation: its results show the cost of emulation, not that of virtual machines with hardware support"

// noVerdict is the wording for comparisons without one.
const noVerdict = "no verdict"

// looksSlower is the wording for unpaired results.
const looksSlower = "looks slower"

// Headline is the results of one environment as a sentence.
type Headline struct {
	Environment string
	Text        string
	Machines    string // how many the same load takes; "" where that is not known
	Money       string // by the prices of the study; "" without them
	Undecided   string // what has no verdict, and why; "" for nothing
	Differs     string // what else differs, for which comparisons are marked; "" for nothing
	Caution     string
}

// Headlines summarises the primary metrics by environment.
func (v *Report) Headlines() []Headline {
	var all []Headline
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung {
			continue
		}
		h := Headline{Environment: e.Shown}
		if environment.Emulated(e.Facts.Label) {
			h.Caution = onlyEmulation
		}
		if !e.Ran() {
			h.Text, h.Caution = "skipped: not usable on this machine", ""
			all = append(all, h)
			continue
		}
		h.Text, h.Machines, h.Money, h.Undecided = v.sumUp(e), v.Machines(e), v.Money(e), v.Undecided(e)
		h.Differs = v.differs(e, h.Text)
		all = append(all, h)
	}
	return all
}

// differs names the confounds of an environment that a text does not name yet.
func (v *Report) differs(e *Environment, told string) string {
	var names []string
	for _, s := range v.Fair {
		if s.Environment != e.Name || s.Baseline != v.Plan.Baseline {
			continue
		}
		for _, c := range s.Confounds {
			if name := c.Finding.Finding; !strings.Contains(told, name) {
				names = append(names, name)
			}
		}
	}
	marked := slices.ContainsFunc(v.Primary(), func(r Row) bool {
		c := r.Metric.Cells[v.cellIndex(e)].Contrast
		return c != nil && ConfoundMark(c) != ""
	})
	if len(names) == 0 || !marked {
		return ""
	}
	return "What else differs (" + Mark + "): " + strings.Join(names, ", ")
}

func (v *Report) sumUp(e *Environment) string {
	counts := map[string]int{}
	total, without, failing := 0, 0, 0
	for _, r := range v.Primary() {
		cell := r.Metric.Cells[v.cellIndex(e)]
		c := cell.Contrast
		switch {
		case c == nil && cell.Failing:
			failing++
			continue
		case c == nil:
			without++
			continue
		}
		total++
		counts[headWord(c)]++
	}
	var parts []string
	if failing > 0 {
		parts = append(parts, fmt.Sprintf("not compared in %d: one side fails more", failing))
	}
	if total == 0 {
		return cmp.Or(strings.Join(parts, ", "), "no comparison has a result")
	}
	before := len(parts)
	for _, word := range headWords() {
		if counts[word] == 0 {
			continue
		}
		text := fmt.Sprintf("%s in %d", word, counts[word])
		if len(parts) == before {
			text += fmt.Sprintf(" of %s", quantity.Counted(total, "comparison", "comparisons"))
		}
		if why, n := v.withheld(e); word == noVerdict+Mark && n > 0 {
			if n < counts[word] { // the others have too few blocks
				why = fmt.Sprintf("%d of them %s", n, why)
			}
			text += " (" + why + ")"
		}
		if most, metric := v.largest(e, word); most != nil {
			text += fmt.Sprintf(" (%s%s, %s: %s)", map[bool]string{true: "in ", false: "largest in "}[counts[word] == 1], LevelTitle(most.Workload, most.Level), metric, sized(most))
		}
		parts = append(parts, text)
	}
	if without > 0 {
		parts = append(parts, fmt.Sprintf("no value in %d", without))
	}
	return strings.Join(parts, ", ")
}

// headWords are what a headline counts comparisons as, in its order: those that a confound
// affects stand apart.
func headWords() (all []string) {
	for _, word := range []string{"slower", "faster", "equivalent", "leaning slower", "leaning faster", "inconclusive", looksSlower, "looks faster", "looks equivalent", "looks undecided", "too few results for an interval", noVerdict} {
		all = append(all, word, word+Mark)
	}
	return all
}

func headWord(c *verdict.Contrast) string {
	if c.Unpaired && !c.Withheld() {
		return c.Reason.String() + ConfoundMark(c)
	}
	return VerdictWord(c) + ConfoundMark(c)
}

// withheld are the reasons that took verdicts of primary comparisons of an environment, and
// how many.
func (v *Report) withheld(e *Environment) (reasons string, n int) {
	var all []string
	for _, r := range v.Primary() {
		c := r.Metric.Cells[v.cellIndex(e)].Contrast
		if c == nil || !c.Withheld() {
			continue
		}
		n++
		if !slices.Contains(all, c.Reason.String()) {
			all = append(all, c.Reason.String())
		}
	}
	return strings.Join(all, "; "), n
}

// largest is the primary comparison of an environment that differs most among those with
// this word, and the title of its metric; nil where the word decides nothing.
func (v *Report) largest(e *Environment, word string) (most *verdict.Contrast, metric string) {
	if !slices.Contains([]string{"slower", "faster", "equivalent", looksSlower, "looks faster"}, strings.TrimSuffix(word, Mark)) {
		return nil, ""
	}
	for _, r := range v.Primary() {
		c := r.Metric.Cells[v.cellIndex(e)].Contrast
		if c != nil && headWord(c) == word && (most == nil || math.Abs(c.Estimate) > math.Abs(most.Estimate)) {
			most, metric = c, r.Metric.Title()
		}
	}
	return most, metric
}

// cellIndex is the index of an environment among the cells, which leave out the
// baseline.
func (v *Report) cellIndex(e *Environment) int {
	i := 0
	for _, other := range v.Environments[:e.Index] {
		if !other.Baseline && !other.Rung {
			i++
		}
	}
	return i
}

// costOf is the log ratio of a contrast in the direction that is worse.
func costOf(c *verdict.Contrast) float64 {
	if c.Better == "higher" {
		return -c.Estimate
	}
	return c.Estimate
}

// Margin is the plan's margin as a log ratio.
func (v *Report) Margin() float64 { return math.Log1p(float64(v.Plan.Design.Margin)) }

// Overview is the run in one line: how much of it there is.
func (v *Report) Overview() string {
	parts := []string{
		"baseline " + v.Plan.Baseline,
		quantity.Counted(v.Blocks, "block", "blocks") + v.onNodes(),
		quantity.Counted(len(v.Trials), "trial", "trials"),
	}
	if v.Manifest.Import != nil {
		parts = []string{"imported", parts[0], quantity.Counted(len(v.Trials), "result", "results")}
	}
	if v.Bad > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", v.Bad))
	}
	if v.Out > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", v.Out))
	}
	d := v.Plan.Design
	intervals := "each interval at " + d.Confidence.String()
	if d.Order == verdict.OrderUnpaired {
		intervals = d.Confidence.String() + " intervals"
	}
	return strings.Join(append(parts, "margin "+d.Margin.String(), intervals), ", ")
}
