package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// Layer is what a run says of one environment: its sentences by what a reader can do with
// them. What it does not have is left out.
type Layer struct {
	*Environment
	Lines   map[Grade][]string
	CPU     string // of an operation of each service, and so how many machines the same load takes
	Money   string // by the prices of the study
	Caution string
}

// mostNamed is how many services or other workloads of one verdict are named.
const mostNamed = 4

// layers are the environments that are compared with the baseline, as a reader decides
// between them.
func (d *decision) layers() (all []Layer) {
	for i := range d.Environments {
		e := &d.Environments[i]
		if e.Baseline || e.Rung {
			continue
		}
		l := Layer{Environment: e, Lines: map[Grade][]string{}, Caution: d.broken(e)}
		switch at := slices.IndexFunc(d.used, func(u used) bool { return u.Environment == e }); {
		case l.Caution != "": // nothing worked
		case at >= 0:
			d.fill(&l, d.used[at])
		case !e.Ran():
			l.Caution = "skipped: not usable on this machine"
		default: // said once, and not of each workload
			l.Caution = "nothing to act on: " + onlyEmulation
		}
		all = append(all, l)
	}
	return all
}

// broken says why an environment has no trial that worked, where it has some; "" where it has
// one that did.
func (v *Report) broken(e *Environment) string {
	n, reasons := 0, map[string]int{}
	for _, t := range v.Trials {
		switch {
		case t.Environment != e.Name:
		case t.Status == rundir.OK:
			return ""
		case t.Status == rundir.Failed:
			n++
			reasons[t.Reason]++
		}
	}
	switch most := MostFrequent(reasons); {
	case n == 0:
		return ""
	case n == 1:
		return "its trial failed: " + most
	case len(reasons) == 1:
		return fmt.Sprintf("all its %d trials failed: %s", n, most)
	default:
		return fmt.Sprintf("all its %d trials failed, %d of them with: %s", n, reasons[most], most)
	}
}

// fill adds what a run says of an environment.
func (d *decision) fill(l *Layer, u used) {
	for _, w := range d.Workloads {
		if g, text := d.service(u, w); text != "" {
			l.Lines[g] = append(l.Lines[g], text)
		}
	}
	for g, texts := range l.Lines {
		l.Lines[g] = andMore(texts)
	}
	d.otherWork(l, u)
	if differs := d.differs(u); differs != "" {
		l.Lines[Unfair] = append(l.Lines[Unfair], "what differs: "+differs)
	}
	for g := range l.Lines {
		d.told[g] = true
	}
	l.CPU, l.Money = d.perService(u, cost.CPU), d.perService(u, cost.Money)
	if len(l.Lines) == 0 {
		l.Caution = "no comparison has a result"
	}
}

// service says what an environment does to one: its primary metrics, and the tail of its
// latency. It stands where the surest of its primary metrics does; what is less sure says so.
func (d *decision) service(u used, w Workload) (Grade, string) {
	if !d.serves(w.Name) {
		return "", ""
	}
	own := lists.Filter(u.all, func(c placed) bool { return c.Row.Workload.Name == w.Name })
	primary := lists.Filter(own, func(c placed) bool { return c.Row.Metric.Primary })
	if len(primary) == 0 {
		if r := lists.Find(d.rows, func(r *Row) bool { return r.Workload.Name == w.Name && r.Metric.Primary }); r != nil {
			return Without, w.Name + ": " + r.Metric.Cell(u.Name).Reason
		}
		return "", ""
	}
	surest := slices.MinFunc(lists.Map(primary, func(c placed) Grade { return d.grade(c.Contrast) }), byGrade)
	words := lists.Map(primary, func(c placed) string { return headWord(c.Contrast) })
	together := len(slices.Compact(slices.Sorted(slices.Values(words)))) == 1
	text := w.Name
	if together && !primary[0].Withheld() {
		text += " " + words[0]
	}
	text += " (" + blocksOf(primary) + ")"
	if primary[0].Withheld() && together {
		return Without, text + ": " + primary[0].Reason.String()
	}
	latency := d.latencyOf(w, own)
	var figures []string
	for _, m := range w.AllMetrics() {
		of := lists.Filter(own, func(c placed) bool { return c.Row.Metric.Name == m.Name && c.N > 0 && !c.Withheld() })
		if !m.Primary && !slices.Contains(latency, m.Name) || len(of) == 0 {
			continue
		}
		name, each := m.Title(), lists.Map(of, func(c placed) string { return headWord(c.Contrast) })
		alike := len(slices.Compact(slices.Sorted(slices.Values(each)))) == 1
		if m.Primary && !together && alike {
			name += " " + each[0]
		}
		figures = append(figures, name+" "+d.across(of, surest, m.Primary && !alike))
	}
	return surest, text + ": " + strings.Join(figures, ", ")
}

// latencyOf are the metrics that describe a workload's latency: its tail, and the median where
// the tail is undecided and the median is not.
func (d *decision) latencyOf(w Workload, own []placed) (names []string) {
	percentile := func(p float64, of string) *workload.Metric {
		return lists.Find(w.Pack.Metrics, func(m *workload.Metric) bool {
			return m.Percentile != nil && *m.Percentile == p && (of == "" || m.Of == of)
		})
	}
	undecided := func(name string) bool {
		return slices.ContainsFunc(own, func(c placed) bool { return c.Row.Metric.Name == name && d.grade(c.Contrast) == Undecided })
	}
	tail := percentile(99, "")
	if tail == nil {
		tail = percentile(95, "")
	}
	if tail == nil {
		return nil
	}
	names = []string{tail.Name}
	if median := percentile(50, tail.Of); median != nil && undecided(tail.Name) && !undecided(median.Name) {
		names = append(names, median.Name)
	}
	return names
}

// across is a change at one level, or from the least to the most over several; with its word
// where it is worded.
func (d *decision) across(of []placed, surest Grade, worded bool) string {
	one := func(c placed) string {
		text := d.figure(c, surest)
		if worded {
			text = headWord(c.Contrast) + " " + text
		}
		return text
	}
	if len(of) == 1 {
		return one(of[0])
	}
	size := func(a, b placed) int {
		return cmp.Compare(math.Abs(a.Contrast.Point()), math.Abs(b.Contrast.Point()))
	}
	least, most := slices.MinFunc(of, size), slices.MaxFunc(of, size)
	return fmt.Sprintf("from %s at %s to %s at %s", one(least), least.Row.Level.Name, one(most), most.Row.Level.Name)
}

// figure is a change with its interval; with the values that it is between where they are
// times or money, and with its grade where that is less sure than what it stands below.
func (d *decision) figure(c placed, surest Grade) string {
	text := changed(c.Contrast)
	value, _ := c.Row.Metric.At(c.of)
	_, time := timeUnits[c.Unit]
	_, priced := cost.Currency(c.Unit)
	var remarks []string
	if before := c.Row.Metric.Reference; (time || priced) && !mediansOppose(c.Contrast) && !math.IsNaN(value) && !math.IsNaN(before) {
		scale := ScaleFor(max(before, value), c.Unit)
		remarks = append(remarks, In(scale, before)+" to "+In(scale, value)+scale.Suffix)
	}
	g := d.grade(c.Contrast)
	if byGrade(g, surest) > 0 {
		d.told[g] = true
		remarks = append(remarks, string(g))
	}
	if g == Undecided && c.Row.Metric.Primary {
		remarks = append(remarks, c.needs())
	}
	if len(remarks) > 0 {
		text += " (" + strings.Join(remarks, ", ") + ")"
	}
	return text
}

// changed is a change with its interval.
func changed(c *verdict.Contrast) string {
	return strings.TrimSpace(EstimateText(c) + " " + IntervalText(c))
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

// otherWork says what an environment does to the workloads that are no services, by their
// verdicts, the largest changes first.
func (d *decision) otherWork(l *Layer, u used) {
	all := lists.Filter(u.primary(), func(c placed) bool { return !d.serves(c.Row.Workload.Name) })
	for _, g := range Grades {
		of := lists.Filter(all, func(c placed) bool { return d.grade(c.Contrast) == g })
		add := func(about string, which []placed, form func(placed) string) {
			if names := andMore(lists.Map(which, form)); len(names) > 0 {
				l.Lines[g] = append(l.Lines[g], about+strings.Join(names, ", "))
			}
		}
		if g == Undecided {
			slices.SortStableFunc(of, func(a, b placed) int { return cmp.Compare(a.takes(), b.takes()) })
			add("", of, func(c placed) string { return c.among(all) + " (" + c.needs() + ")" })
			continue
		}
		slices.SortStableFunc(of, func(a, b placed) int { return cmp.Compare(math.Abs(b.Estimate), math.Abs(a.Estimate)) })
		for _, word := range headWords() {
			alike := lists.Filter(of, func(c placed) bool { return headWord(c.Contrast) == word && !c.Withheld() && c.N > 0 })
			if len(alike) > 0 {
				add(word+" ("+blocksOf(alike)+"): ", alike, func(c placed) string { return c.among(all) + " " + changed(c.Contrast) })
			}
		}
		withheld := lists.Filter(of, func(c placed) bool { return c.Withheld() })
		for _, cause := range slices.Compact(lists.Map(withheld, func(c placed) string { return c.Reason.Cause })) {
			add(Mark+" "+cause+": ", lists.Filter(withheld, func(c placed) bool { return c.Reason.Cause == cause }), func(c placed) string { return c.among(all) })
		}
	}
	if lacking := d.lacking(u); len(lacking) > 0 {
		l.Lines[Without] = append(l.Lines[Without], lacking...)
	}
}

// lacking names the primary metrics of the workloads that are no services which have no
// comparison, by the reason.
func (d *decision) lacking(u used) (texts []string) {
	names := map[string][]string{}
	var reasons []string
	for _, r := range d.rows {
		c := r.Metric.Cell(u.Name)
		if !r.Metric.Primary || c == nil || c.Contrast != nil || d.serves(r.Workload.Name) {
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

// differs names the confounds of an environment that leave a verdict, with the workloads that
// each affects.
func (d *decision) differs(u used) string {
	if !u.unfair() {
		return ""
	}
	var names []string
	for _, s := range d.Fair {
		if s.Environment == u.Name && s.Baseline == d.Plan.Baseline {
			names = lists.Map(lists.Filter(s.Confounds, func(c parity.Cause) bool { return !c.NoVerdict }), parity.Cause.Affecting)
		}
	}
	return strings.Join(names, ", ")
}

// perService is the change of a cost in each service that has it.
func (d *decision) perService(u used, metric string) string {
	var texts []string
	for _, w := range d.Workloads {
		of := lists.Filter(u.all, func(c placed) bool {
			return c.Row.Workload.Name == w.Name && c.Row.Metric.Name == metric && c.N > 0 && !c.Withheld()
		})
		if d.serves(w.Name) && len(of) > 0 {
			texts = append(texts, w.Name+" "+d.across(of, Safe, false))
		}
	}
	return strings.Join(andMore(texts), ", ")
}

// andMore cuts a list, and says how many are left out.
func andMore(names []string) []string {
	if more := len(names) - mostNamed; more > 0 {
		return append(slices.Clone(names[:mostNamed]), fmt.Sprintf("and %d more", more))
	}
	return names
}

// emulated reports whether an environment says nothing about a layer in use.
func emulated(e *Environment) bool { return environment.Emulated(e.Facts.Label) }
