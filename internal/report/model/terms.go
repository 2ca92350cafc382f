package model

import (
	"fmt"
	"slices"

	"tare/internal/base/quantity"
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
)

// Term is a sign or a word that a report uses, and what it means.
type Term struct{ Name, Means string }

// terms explain the words of the layers, and what stands beside the figures of this run.
func (d *decision) terms() (terms []Term) {
	add := func(is bool, name, means string) {
		if is {
			terms = append(terms, Term{name, means})
		}
	}
	add(d.told[Safe], string(Safe), fmt.Sprintf("decided; interval, as a ratio, no wider than the change (or ±%s)", d.Plan.Design.Margin))
	wide := "decided, with a wider interval"
	switch {
	case d.Manifest.Machine.Emulated():
		wide = "decided, on an emulated processor: sizes differ on hardware"
	case d.varied >= loudFrom:
		wide = "decided, on a machine that was too noisy for sizes"
	}
	add(d.told[Direction], string(Direction), wide)
	varies := "it varies more between blocks than it differs"
	leans := func(c placed) bool { return c.Leaning != "" }
	if slices.ContainsFunc(d.used, func(u used) bool { return slices.ContainsFunc(u.primary(), leans) }) {
		varies += "; leaning: " + leaning
	}
	add(d.told[Undecided], string(Undecided), varies)
	if d.Plan.Design.Order != verdict.OrderUnpaired && len(d.Contrasts) > 0 {
		risk := quantity.Share(1 - d.Plan.Design.Confidence)
		add(true, "n", fmt.Sprintf("blocks with both sides%s. Changes are within blocks, values beside them the medians of all. False differences: at most %s a metric, at any n", d.fewer(), risk))
	}
	services := slices.ContainsFunc(d.rows, func(r Row) bool { return r.Metric.Name == cost.CPU && d.serves(r.Workload.Name) })
	machines := "the machines for the same load change as much, where the CPU is the limit"
	if d.Plan.Price == nil {
		machines += "; in money with price: {currency: EUR, cpu_hour: 0.03} in the study"
	}
	add(services, CPUOfOperation, machines)
	return terms
}

// CPUOfOperation is what the CPU time of an operation is called.
const CPUOfOperation = "CPU per operation"

const leaning = "its own interval excludes zero, and the one for all comparisons of the metric does not"

// Leaning explains verdicts that lean; "" where none does.
func (v *Report) Leaning() string {
	if slices.ContainsFunc(v.Contrasts, func(c verdict.Contrast) bool { return c.Leaning != "" && (c.Primary || c.Metric == companion) }) {
		return leaning
	}
	return ""
}

// fewer says why comparisons have fewer blocks than the run; "" where none has. The last block
// ended in the middle where something is not in it that is undecided still.
func (d *decision) fewer() string {
	type at struct {
		subject.Cell
		block int
	}
	made := map[at]rundir.Status{}
	for _, t := range d.Trials {
		made[at{t.Cell(), t.Block}] = t.Status
	}
	var cut, last, decided, barred, failed, waited bool
	for _, u := range d.used {
		for _, c := range u.primary() {
			for block := 1; block <= d.Blocks && c.N < d.Blocks && !c.Unpaired; block++ {
				here, base := made[at{c.Figure().Cell, block}], made[at{c.Figure().Cell.In(d.Plan.Baseline), block}]
				switch {
				case here == rundir.OK && base == rundir.OK:
				case here != "" && here != rundir.OK, base != "" && base != rundir.OK:
					failed = true
				case open(c.Contrast) && block == d.Blocks && base == "":
					cut = true
				case open(c.Contrast):
					waited = true
				case c.Barred():
					barred = true
				case block == d.Blocks:
					last = true
				default:
					decided = true
				}
			}
		}
	}
	decided = decided || last && !cut
	text := ""
	for _, one := range []struct {
		is   bool
		says string
	}{{cut, fmt.Sprintf("block %d ended in the middle", d.Blocks)}, {decided, "what is decided leaves early"}, {barred, "what can have no verdict leaves early"}, {failed, "failed trials have none"}, {waited, "some waited for others"}} {
		if one.is {
			text += map[bool]string{true: fmt.Sprintf(", of %d: ", d.Blocks), false: "; "}[text == ""] + one.says
		}
	}
	return text
}
