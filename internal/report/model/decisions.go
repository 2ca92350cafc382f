package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
)

// open reports whether a comparison could have a verdict, and has none.
func open(c *verdict.Contrast) bool {
	return !c.Unpaired && (c.Verdict == verdict.Inconclusive || c.Verdict == verdict.None && !c.Barred() && c.N > 0 && c.N < stats.LeastBlocks)
}

// undecided are the primary comparisons with an environment that could have a verdict, and
// have none: those that lack least come first.
func (v *Report) undecided(e *Environment) []placed {
	all := lists.Filter(comparisons(e, v.Primary()), func(c placed) bool { return open(c.Contrast) })
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.takes(), b.takes()) })
	return all
}

// takes is how many blocks a verdict is likely to take; more than any run has where that is
// out of reach.
func (c placed) takes() int {
	switch {
	case c.N < stats.LeastBlocks:
		return stats.LeastBlocks
	case c.Projection > c.N && c.Projection <= verdict.FarAway:
		return c.Projection
	}
	return math.MaxInt
}

// Undecided says what has no verdict in an environment, and why; "" if nothing.
func (v *Report) Undecided(e *Environment) string {
	var texts []string
	primary := comparisons(e, v.Primary())
	all := v.undecided(e)
	few := lists.Filter(all, func(c placed) bool { return c.N < stats.LeastBlocks })
	rest := lists.Filter(all, func(c placed) bool { return c.N >= stats.LeastBlocks })
	if len(rest) > 0 {
		names := lists.Map(rest, func(c placed) string {
			blocks := fmt.Sprintf("~%d", c.takes())
			if c.takes() == math.MaxInt {
				blocks = fmt.Sprintf("over %d", verdict.FarAway)
			}
			return c.among(primary) + " (" + blocks + " blocks)"
		})
		texts = append(texts, strings.Join(andMore(names), ", ")+": they vary more from block to block than they differ")
	}
	if len(few) > 0 {
		names := lists.Map(few, func(c placed) string { return fmt.Sprintf("%s (n=%d)", c.among(primary), c.N) })
		texts = append(texts, fmt.Sprintf("%s: too few blocks, of which an interval takes at least %d", strings.Join(andMore(names), ", "), stats.LeastBlocks))
	}
	return strings.Join(texts, "; ")
}

// among is the title of a comparison, with its metric where the others have one of another
// metric there.
func (c placed) among(all []placed) string {
	name := c.Title()
	if same := lists.Filter(all, func(o placed) bool { return o.Title() == name }); len(same) > 1 {
		name += " " + c.Row.Metric.Title()
	}
	return name
}

// CPU says what the CPU time of services means for the number of machines, where the CPU is
// what they run out of; of services alone, since nobody buys machines for a benchmark of
// system calls. The mean is over all workloads. "" where neither is known.
func (v *Report) CPU(e *Environment) string {
	text := v.spread(e, cost.CPU)
	if text != "" {
		text += "; the machines needed change alike where the CPU is the limit"
	}
	return strings.TrimPrefix(text+v.mean(e, cost.CPU), "; ")
}

// Money says what operations of services cost by the study's prices; "" without prices.
func (v *Report) Money(e *Environment) string {
	if v.Plan.Price == nil {
		return ""
	}
	return v.spread(e, cost.Money)
}

// spread is the change of a cost from the service where it is least to that where it is most.
func (v *Report) spread(e *Environment, metric string) string {
	rows := lists.Filter(v.Rows(), func(r Row) bool { return r.Metric.Name == metric && v.serves(r.Workload.Name) })
	decided := lists.Filter(comparisons(e, rows), func(c placed) bool {
		return ConfoundMark(c.Contrast) == "" && slices.Contains([]verdict.Verdict{verdict.Slower, verdict.Faster, verdict.Equivalent}, c.Verdict)
	})
	if len(decided) == 0 {
		return ""
	}
	larger := func(a, b placed) int { return cmp.Compare(a.Estimate, b.Estimate) }
	least, most := slices.MinFunc(decided, larger), slices.MaxFunc(decided, larger)
	one := least.Row.Workload.Name == most.Row.Workload.Name
	of := func(c placed) string {
		text := EstimateText(c.Contrast)
		if !one {
			text += " in " + c.Title()
		}
		if metric == cost.Money {
			text += ": " + Figure(c.Values.Median, c.Unit) + ", " + Figure(c.Base.Median, c.Unit) + " in " + v.Base.Shown
		}
		return text
	}
	text := of(most)
	if len(decided) > 1 {
		text = of(least) + " to " + text
	}
	if one {
		text += " in " + most.Row.Workload.Name
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
		return fmt.Sprintf("; %s over all %d workloads and levels (geomean)", verdict.Change(means[i].Log), means[i].Places)
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
