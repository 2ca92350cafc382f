package verdict

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
)

// Moved compares one contrast in two runs of the same study: how much more or
// less the environment costs in the second run. Both costs are ratios to the
// baseline of their run, so that a machine that was slower on the second day
// cancels out. Log ratios, second run over first.
type Moved struct {
	Workload    string  `json:"workload"`
	Level       string  `json:"level,omitempty"`
	Metric      string  `json:"metric"`
	Unit        string  `json:"unit"`
	Better      string  `json:"better"`
	Primary     bool    `json:"primary"`
	Environment string  `json:"environment"`
	First       int     `json:"n_first"`
	Second      int     `json:"n_second"`
	FirstCost   float64 `json:"first"`  // ratio to the baseline, as a report estimates it
	SecondCost  float64 `json:"second"` // the same in the second run
	// Shift has the 95% interval of this figure alone; Simultaneous holds for all
	// comparisons of the table, and decides.
	Shift        stats.Interval `json:"-"`
	Simultaneous Ends           `json:"simultaneous,omitzero"`
	// Baseline is how the baseline's own median moved, as a ratio. It is
	// not a comparison: without interleaving it includes the machine.
	Baseline float64 `json:"baseline_moved"`
	Verdict  Verdict `json:"verdict"` // slower: the layer costs more now
	// Leaning is where its own interval excludes no change, and the table's does not.
	Leaning Verdict `json:"leaning,omitempty"`
	Reason  Reason  `json:"reason,omitzero"`
	// Confounds affect the cost in one of the runs.
	Confounds []string `json:"confounds,omitempty"`
}

// Compare compares every contrast that both runs have. The interval of each is
// the Hodges-Lehmann shift between two independent samples with the exact
// distribution of the Wilcoxon rank-sum statistic (Hodges and Lehmann 1963), at 95%
// for this figure. The verdict is by the same at 5% divided by the number of
// comparisons (Bonferroni), primary metrics and others apart: the error rate is that of
// the table. An environment that left its run after a few blocks has too few of them for
// a verdict, and an interval nevertheless.
func Compare(plan *study.Plan, first, second []rundir.Trial) []Moved {
	a, b := ratios(plan, first), ratios(plan, second)
	var changes []Moved
	for at, w := range places(plan) {
		for _, m := range metricsOf(w.Pack) {
			for _, e := range plan.Environments {
				k := at.Of(m.Name).In(e.Name)
				if e.Name == plan.Baseline || len(a.costs[k]) == 0 || len(b.costs[k]) == 0 {
					continue
				}
				base := k.In(plan.Baseline)
				changes = append(changes, Moved{
					Workload: at.Workload, Level: at.Level, Metric: m.Name, Unit: m.Unit, Better: m.Better, Primary: m.Primary,
					Environment: e.Name, First: len(a.costs[k]), Second: len(b.costs[k]),
					FirstCost: math.Exp(stats.Location(a.costs[k])), SecondCost: math.Exp(stats.Location(b.costs[k])),
					Baseline: stats.Median(b.values[base]) / stats.Median(a.values[base]),
				})
			}
		}
	}
	family := map[bool]int{}
	for _, c := range changes {
		family[c.Primary]++
	}
	margin := math.Log1p(float64(plan.Design.Margin))
	for i := range changes {
		c := &changes[i]
		k := subject.Place{Workload: c.Workload, Level: c.Level}.In(c.Environment).Of(c.Metric)
		alpha := 0.05 / float64(family[c.Primary])
		c.Shift = stats.Shift(b.costs[k], a.costs[k], 0.05)
		together := stats.Shift(b.costs[k], a.costs[k], alpha)
		c.Simultaneous = Ends{together.Low, together.High}
		c.judge(together, margin, alpha)
		for n, run := range []runRatios{a, b} {
			if run.noRatio[k] {
				c.withdraw(Reason{Code: NotPositiveRun, Side: []string{"first", "second"}[n]})
				break
			}
			if reason := run.failing[k]; !reason.IsZero() {
				c.withdraw(reason)
			}
		}
		if plan.Design.Order == OrderUnpaired {
			c.Verdict, c.Leaning, c.Reason = None, "", Reason{Code: UnpairedRun}
		}
	}
	slices.SortStableFunc(changes, func(x, y Moved) int { return cmp.Compare(rank(x.Primary), rank(y.Primary)) })
	return changes
}

func rank(primary bool) int {
	if primary {
		return 0
	}
	return 1
}

// AsReported gives each change the costs that the reports of both runs have, and the confounds
// of either; where those make the comparison of a run meaningless, a change of it is.
func AsReported(changes []Moved, baseline string, first, second []Contrast) {
	for i := range changes {
		c := &changes[i]
		of := subject.Place{Workload: c.Workload, Level: c.Level}.In(c.Environment).Of(c.Metric)
		for n, reported := range [][]Contrast{first, second} {
			at := slices.IndexFunc(reported, func(k Contrast) bool { return k.Baseline == baseline && k.Part == "" && k.Figure() == of })
			if at < 0 {
				continue
			}
			k := &reported[at]
			if point := math.Exp(k.Point()); finite(point) != nil {
				*[]*float64{&c.FirstCost, &c.SecondCost}[n] = point
			}
			for _, w := range k.Warnings {
				c.Confounds = lists.Add(c.Confounds, w.Confounds...)
			}
			if k.Withheld() {
				c.Verdict, c.Leaning, c.Reason = None, "", k.Reason
			}
		}
	}
}

// withdraw leaves no comparison, for a reason.
func (c *Moved) withdraw(reason Reason) {
	c.Shift = stats.Interval{Estimate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	c.Simultaneous = Ends{}
	c.Verdict, c.Leaning, c.Reason = None, "", reason
}

// judge decides by the interval that holds for the whole table.
func (c *Moved) judge(together stats.Interval, margin, alpha float64) {
	up, down := Slower, Faster
	if c.Better == "higher" {
		up, down = Faster, Slower
	}
	direction := map[bool]Verdict{true: up, false: down}
	switch {
	case !together.Bounded():
		c.Verdict = None
		c.Reason = Reason{Code: FewInRuns, Number: c.First, Second: c.Second, Value: alpha}
	case together.Inside(margin):
		c.Verdict = Equivalent
	case together.ExcludesZero():
		c.Verdict = direction[together.Low > 0]
	default:
		c.Verdict = Inconclusive
	}
	if (c.Verdict == None || c.Verdict == Inconclusive) && c.Shift.Bounded() && c.Shift.ExcludesZero() {
		c.Leaning = direction[c.Shift.Low > 0]
	}
}

type runRatios struct {
	costs  map[subject.Figure][]float64 // log ratios to the baseline, a block each
	values map[subject.Figure][]float64
	// noRatio has those of which a block has a value of 0 or less on either side.
	noRatio map[subject.Figure]bool
	failing map[subject.Figure]Reason
}

func ratios(plan *study.Plan, trials []rundir.Trial) runRatios {
	b := emptyBook(plan)
	for _, t := range trials {
		b.Add(t)
	}
	out := runRatios{map[subject.Figure][]float64{}, map[subject.Figure][]float64{}, map[subject.Figure]bool{}, map[subject.Figure]Reason{}}
	for at, w := range places(plan) {
		for i, m := range w.Pack.Metrics {
			for _, of := range plan.Environments {
				e, k := newEntry(b.blank(at.In(of.Name), m), w.Fresh), at.In(of.Name).Of(m.Name)
				b.enter(e, i, k.Cell, k.In(plan.Baseline).Cell)
				e.s, e.base = joined(e.of), joined(e.over)
				out.values[k] = e.s.means
				out.costs[k] = e.pairs().d
				out.failing[k] = b.failing(e)
				out.noRatio[k] = e.s.nonPositive > 0 || e.base.nonPositive > 0
			}
		}
	}
	return out
}

// MarshalJSON adds the shift as log ratios and as ratios, like a contrast's.
func (c Moved) MarshalJSON() ([]byte, error) {
	type plain Moved
	s := c.Shift
	out := struct {
		plain
		span
		Ratios span `json:"ratios"`
	}{plain: plain(c), span: span{finite(s.Estimate), finite(s.Low), finite(s.High)}}
	if c.Shift.Bounded() {
		out.Ratios = span{finite(math.Exp(s.Estimate)), finite(math.Exp(s.Low)), finite(math.Exp(s.High))}
	}
	return json.Marshal(out)
}
