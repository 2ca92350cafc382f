package report

import (
	"fmt"
	"math"
	"strings"
)

// emulated is the label of a guest that runs under software emulation.
const emulated = "tcg"

// onlyEmulation is said of every environment with that label: its figures are
// about emulation, never about virtual machines.
const onlyEmulation = "this guest ran under software emulation: its figures say what emulation costs, and nothing about virtual machines with hardware support"

// looksSlower is said of imported results that nothing pairs.
const looksSlower = "looks slower"

// headline is one environment's results in a sentence.
type headline struct {
	Environment string
	Text        string
	Caution     string
}

// headlines sums up the primary metrics, an environment each.
func (v *view) headlines() []headline {
	var all []headline
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung {
			continue
		}
		h := headline{Environment: e.Shown}
		if e.Facts.Label == emulated {
			h.Caution = onlyEmulation
		}
		if !e.Ran() {
			h.Text, h.Caution = "skipped, since it is not usable on this machine", ""
			all = append(all, h)
			continue
		}
		h.Text = v.sumUp(e)
		all = append(all, h)
	}
	return all
}

func (v *view) sumUp(e *environmentView) string {
	counts := map[string]int{}
	total, without, largest := 0, 0, 0.0
	var most *contrast
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, m := range l.Metrics {
				if !m.Primary {
					continue
				}
				c := m.Cells[v.cellOf(e)].Contrast
				if c == nil {
					without++
					continue
				}
				total++
				word := word(c)
				if c.Unpaired {
					word = c.Reason
				}
				counts[word]++
				if cost := costOf(c); (word == "slower" || word == looksSlower) && (most == nil || cost > largest) {
					largest, most = cost, c
				}
			}
		}
	}
	if total == 0 {
		return "no comparison came out"
	}
	var parts []string
	for _, word := range []string{"slower", "faster", "equivalent", "inconclusive", looksSlower, "looks faster", "looks equivalent", "looks undecided", "too few results for an interval", "no verdict"} {
		if counts[word] == 0 {
			continue
		}
		text := fmt.Sprintf("%s in %d", word, counts[word])
		if len(parts) == 0 {
			text += fmt.Sprintf(" of %s", counted(total, "comparison", "comparisons"))
		}
		if word == "slower" || word == looksSlower {
			text += fmt.Sprintf(" (most in %s: %s)", place(most.Workload, most.Level), change(most.Estimate))
		}
		parts = append(parts, text)
	}
	if without > 0 {
		parts = append(parts, fmt.Sprintf("without a figure in %d", without))
	}
	return strings.Join(parts, ", ")
}

// cellOf is the place of an environment among the cells, where the baseline
// has none.
func (v *view) cellOf(e *environmentView) int {
	i := 0
	for _, other := range v.Environments[:e.Index] {
		if !other.Baseline && !other.Rung {
			i++
		}
	}
	return i
}

// costOf is how far a contrast lies on the worse side.
func costOf(c *contrast) float64 {
	if c.Better == "higher" {
		return -c.Estimate
	}
	return c.Estimate
}

// margin is the plan's margin as a log ratio.
func (v *view) margin() float64 { return math.Log1p(float64(v.Plan.Design.Margin)) }

// overview is the run in one line: how much of it there is.
func (v *view) overview() string {
	parts := []string{
		"baseline " + v.Plan.Baseline,
		counted(v.Blocks, "block", "blocks"),
		counted(len(v.Trials), "trial", "trials"),
	}
	if v.Manifest.Import != nil {
		parts = []string{"imported", parts[0], counted(len(v.Trials), "result", "results")}
	}
	if v.Bad > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", v.Bad))
	}
	if v.Out > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", v.Out))
	}
	d := v.Plan.Design
	return strings.Join(append(parts, "margin "+d.Margin.String(), d.Confidence.String()+" intervals"), ", ")
}
