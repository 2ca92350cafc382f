package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/verdict"
)

// Layer is what a run says of one environment, in a sentence for each thing that a reader
// decides by. What it does not have is left out.
type Layer struct {
	*Environment
	Services  []string // each a service: what happens to it, to its latency and to its CPU time
	Other     []string // the other workloads, by their verdicts
	Undecided string   // what has no verdict, and why
	CPU       string   // and so how many machines the same load takes
	Money     string   // by the prices of the study
	Differs   string   // what else differs, for which comparisons are marked
	Caution   string
}

// mostNamed is how many services or other workloads of one verdict are named.
const mostNamed = 4

// Layers are the environments that are compared with the baseline, as a reader decides
// between them.
func (v *Report) Layers() (all []Layer) {
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung {
			continue
		}
		l := Layer{Environment: e}
		switch {
		case !e.Ran():
			l.Caution = "skipped: not usable on this machine"
		case environment.Emulated(e.Facts.Label): // said once, and not of each workload
			l.Caution, l.Differs = v.counted(e)+"; "+onlyEmulation, v.differs(e)
		default:
			l.Services, l.Other, l.Undecided = v.services(e), v.otherWork(e), v.Undecided(e)
			l.CPU, l.Money, l.Differs = v.CPU(e), v.Money(e), v.differs(e)
			if len(l.Services)+len(l.Other) == 0 && l.Undecided == "" {
				l.Other = []string{"no comparison has a result"}
			}
		}
		all = append(all, l)
	}
	return all
}

// placed is a comparison with the place that it is of.
type placed struct {
	Row
	*verdict.Contrast
}

// comparisons of an environment: those of the rows that have one.
func comparisons(e *Environment, rows []Row) (all []placed) {
	for _, r := range rows {
		if c := r.Metric.Cell(e.Name); c != nil && c.Contrast != nil {
			all = append(all, placed{r, c.Contrast})
		}
	}
	return all
}

// differs names the confounds of an environment.
func (v *Report) differs(e *Environment) string {
	if !slices.ContainsFunc(comparisons(e, v.Primary()), func(c placed) bool { return c.Confounded() && !c.Withheld() }) {
		return ""
	}
	var names []string
	for _, s := range v.Fair {
		if s.Environment == e.Name && s.Baseline == v.Plan.Baseline {
			for _, c := range s.Confounds {
				names = append(names, c.Finding.Finding)
			}
		}
	}
	return strings.Join(names, ", ")
}

// counted says of all comparisons of an environment in a line what they amount to.
func (v *Report) counted(e *Environment) string {
	all := comparisons(e, v.Primary())
	if len(all) == 0 {
		return "no comparison has a result"
	}
	var parts []string
	for _, word := range headWords() {
		of := lists.Filter(all, func(c placed) bool { return headWord(c.Contrast) == word })
		if len(of) == 0 {
			continue
		}
		text := fmt.Sprintf("%s in %d", word, len(of))
		if len(parts) == 0 {
			text += " of " + quantity.Counted(len(all), "comparison", "comparisons")
		}
		if !strings.HasPrefix(word, noVerdict) {
			most := slices.MaxFunc(of, func(a, b placed) int { return cmp.Compare(math.Abs(a.Estimate), math.Abs(b.Estimate)) })
			text += fmt.Sprintf(" (most in %s: %s)", most.Title(), sized(most.Contrast))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// services says what an environment does to each service.
func (v *Report) services(e *Environment) (texts []string) {
	for _, w := range v.Workloads {
		if len(w.Pack.Servers) == 0 {
			continue
		}
		if text := v.service(e, w); text != "" {
			texts = append(texts, text)
		}
	}
	return andMore(texts)
}

// service says what an environment does to one: its primary metrics, the tail of its latency
// and its CPU time.
func (v *Report) service(e *Environment, w Workload) string {
	rows := lists.Filter(v.Rows(), func(r Row) bool { return r.Workload.Name == w.Name })
	primary := comparisons(e, lists.Filter(rows, func(r Row) bool { return r.Metric.Primary }))
	if len(primary) == 0 {
		if c := lists.Find(rows, func(r *Row) bool { return r.Metric.Primary }); c != nil {
			return w.Name + ": " + c.Metric.Cell(e.Name).Reason
		}
		return ""
	}
	words := lists.Map(primary, func(c placed) string { return headWord(c.Contrast) })
	together := len(slices.Compact(slices.Sorted(slices.Values(words)))) == 1
	text := w.Name
	if together {
		text += " " + words[0]
	}
	text += " (" + blocksOf(primary) + ")"
	if primary[0].Withheld() && together {
		return text + ": " + primary[0].Reason.String()
	}
	tail := tailOf(w)
	var figures []string
	for _, m := range w.AllMetrics() {
		name := m.Title()
		switch {
		case m.Companion:
			name = "CPU per operation"
		case !m.Primary && m.Name != tail:
			continue
		}
		of := lists.Filter(comparisons(e, lists.Filter(rows, func(r Row) bool { return r.Metric.Name == m.Name })), func(c placed) bool { return c.N > 0 && !c.Withheld() })
		if len(of) > 0 {
			figures = append(figures, name+" "+across(of, m.Primary && !together, !m.Primary && !strings.HasPrefix(words[0], noVerdict)))
		}
	}
	return text + ": " + strings.Join(figures, ", ")
}

// tailOf is the metric that describes the tail of a workload's latency; "" if none does.
func tailOf(w Workload) string {
	for _, percentile := range []float64{99, 95} {
		for _, m := range w.Pack.Metrics {
			if m.Percentile != nil && *m.Percentile == percentile {
				return m.Name
			}
		}
	}
	return ""
}

// notDecided stands behind a change that has no verdict.
const notDecided = " (undecided)"

// across is a change at one level, or from the least to the most over several; with its
// word, or only where it is undecided.
func across(of []placed, worded, undecided bool) string {
	one := func(c placed) string {
		text := EstimateText(c.Contrast)
		if interval := IntervalText(c.Contrast); interval != "" {
			text += " " + interval
		}
		switch {
		case worded:
			text = headWord(c.Contrast) + " " + text
		case undecided && (c.Verdict == verdict.Inconclusive || c.Verdict == verdict.None && !c.Unpaired):
			text += notDecided
		}
		return text
	}
	if len(of) == 1 {
		return one(of[0])
	}
	size := func(a, b placed) int {
		return cmp.Compare(math.Abs(PointEstimate(a.Contrast)), math.Abs(PointEstimate(b.Contrast)))
	}
	least, most := slices.MinFunc(of, size), slices.MaxFunc(of, size)
	return fmt.Sprintf("from %s at %s to %s at %s", one(least), least.Row.Level.Name, one(most), most.Row.Level.Name)
}

// blocksOf is the number of blocks of some comparisons.
func blocksOf(all []placed) string {
	if all[0].Unpaired {
		return BlockCount(all[0].Contrast)
	}
	counts := lists.Map(all, func(c placed) int { return c.N })
	if least, most := slices.Min(counts), slices.Max(counts); least < most {
		return fmt.Sprintf("n=%d to %d", least, most)
	}
	return fmt.Sprintf("n=%d", counts[0])
}

// otherWork says what an environment does to the workloads that are no services, the largest
// changes first. What is undecided is told apart.
func (v *Report) otherWork(e *Environment) (texts []string) {
	all := lists.Filter(comparisons(e, v.Primary()), func(c placed) bool { return !v.serves(c.Row.Workload.Name) && !open(c.Contrast) })
	for _, word := range headWords() {
		of := lists.Filter(all, func(c placed) bool { return headWord(c.Contrast) == word })
		if len(of) == 0 {
			continue
		}
		slices.SortStableFunc(of, func(a, b placed) int { return cmp.Compare(math.Abs(b.Estimate), math.Abs(a.Estimate)) })
		names := lists.Map(of, func(c placed) string {
			name := c.among(all)
			if c.Withheld() || c.N == 0 {
				return name
			}
			return strings.TrimSpace(name + " " + EstimateText(c.Contrast) + " " + IntervalText(c.Contrast))
		})
		text := fmt.Sprintf("%s (%s): %s", word, blocksOf(of), strings.Join(andMore(names), ", "))
		if reasons := slices.Compact(lists.Map(of, func(c placed) string { return c.Reason.String() })); of[0].Withheld() || of[0].N == 0 {
			text = fmt.Sprintf("%s: %s; %s", word, strings.Join(andMore(names), ", "), strings.Join(reasons, "; "))
		}
		texts = append(texts, text)
	}
	return append(texts, v.without(e)...)
}

// without names the primary metrics of the workloads that are no services which have no
// comparison, by the reason.
func (v *Report) without(e *Environment) (texts []string) {
	names := map[string][]string{}
	var reasons []string
	for _, r := range v.Primary() {
		c := r.Metric.Cell(e.Name)
		if c == nil || c.Contrast != nil || v.serves(r.Workload.Name) {
			continue
		}
		if names[c.Reason] == nil {
			reasons = append(reasons, c.Reason)
		}
		if title := r.Title(); !slices.Contains(names[c.Reason], title) {
			names[c.Reason] = append(names[c.Reason], title)
		}
	}
	for _, reason := range reasons {
		texts = append(texts, strings.Join(andMore(names[reason]), ", ")+": "+reason)
	}
	return andMore(texts)
}

// andMore cuts a list, and says how many are left out.
func andMore(names []string) []string {
	if more := len(names) - mostNamed; more > 0 {
		return append(slices.Clone(names[:mostNamed]), fmt.Sprintf("and %d more", more))
	}
	return names
}
