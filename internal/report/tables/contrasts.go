package tables

import (
	"math"
	"slices"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/stats"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// contrast is a comparison with the baseline, or the reason why there is none.
type contrast struct {
	place
	*verdict.Contrast // nil without one
	reason            string
	// own and base are all values of the environment and of the baseline, as the report
	// shows them: also those of blocks that the contrast does not use.
	own, base []float64
}

func (b *base) contrasts() Table {
	raw := map[subject.Figure]*verdict.Contrast{}
	for i := range b.Contrasts {
		raw[b.Contrasts[i].Figure()] = &b.Contrasts[i]
	}
	var rows []contrast
	for _, in := range b.Rows() {
		for _, cell := range in.Metric.Cells {
			of := in.Place().In(cell.Environment.Name).Of(in.Metric.Name)
			r := contrast{place{of.Cell, in.Metric}, raw[of], cell.Reason, b.Values(of), b.Values(of.In(b.Plan.Baseline))}
			if r.reason == "" && r.Contrast != nil {
				r.reason = r.Reason.String()
			}
			rows = append(rows, r)
		}
	}
	t := tableOf("contrasts", "One row for each metric of each workload at each level in each environment other than the baseline, also where nothing could be compared. Ratios are environment over baseline.", slices.Concat(placeColumns(b, func(c contrast) place { return c.place }),
		[]column[contrast]{{Column{Name: "baseline", Type: Text, About: "name of the environment that it is compared with"}, func(contrast) any { return b.Plan.Baseline }}}, contrastColumns()), rows)
	t.Always = true
	return t
}

// among gives a cell only where there is a contrast.
func among(of func(c *verdict.Contrast) any) func(contrast) any {
	return func(c contrast) any {
		if c.Contrast == nil {
			return nil
		}
		return of(c.Contrast)
	}
}

// bounded gives a cell only where there is an estimate with an interval.
func bounded(of func(c *verdict.Contrast) float64) func(contrast) any {
	return among(func(c *verdict.Contrast) any {
		if c.N == 0 || c.RangeOnly() {
			return nil
		}
		return ratio(of(c))
	})
}

// ranged gives a cell where there is any ratio.
func ranged(of func(c *verdict.Contrast) float64) func(contrast) any {
	return among(func(c *verdict.Contrast) any {
		if c.N == 0 || c.Unpaired {
			return nil
		}
		return ratio(of(c))
	})
}

// over gives a cell of some values.
func over(values func(c contrast) []float64, of func([]float64) float64) func(contrast) any {
	return func(c contrast) any {
		if x := values(c); len(x) > 0 {
			return number(of(x))
		}
		return nil
	}
}

func contrastColumns() []column[contrast] {
	figure := func(name, unit, about string, of func(contrast) any) column[contrast] {
		return column[contrast]{Column{Name: name, Type: Number, Unit: unit, About: about}, of}
	}
	own := func(c contrast) []float64 { return c.own }
	base := func(c contrast) []float64 { return c.base }
	integer := func(name, about string, of func(c *verdict.Contrast) int) column[contrast] {
		return column[contrast]{Column{Name: name, Type: Integer, About: about}, among(func(c *verdict.Contrast) any { return count(of(c)) })}
	}
	return []column[contrast]{
		{Column{Name: "verdict", Type: Text, About: "the verdict; missing where there is none, with the reason", Values: verdicts}, func(c contrast) any { return decision(c.Contrast) }},
		{Column{Name: "reason", Type: Text, About: "why there is no verdict, or no comparison"}, func(c contrast) any { return text(c.reason) }},
		figure("ratio", "", "the estimate: 0.9 is a tenth less than the baseline. Missing without an interval", bounded(func(c *verdict.Contrast) float64 { return c.Estimate })),
		figure("ratio_low", "", "lower end of its interval; missing where the blocks do not bound it", bounded(func(c *verdict.Contrast) float64 { return c.Low })),
		figure("ratio_high", "", "upper end of its interval; missing where the blocks do not bound it", bounded(func(c *verdict.Contrast) float64 { return c.High })),
		figure("confidence", "", "of the interval, for this figure alone", among(func(c *verdict.Contrast) any { return number(c.Confidence) })),
		figure("margin", "", "the ratio within which both count as equivalent: 0.02", among(func(c *verdict.Contrast) any { return number(c.Margin) })),
		integer("blocks", "blocks with a value on both sides; of imported results the size of the smaller side", func(c *verdict.Contrast) int { return c.N }),
		integer("interval_blocks", "blocks that the interval is computed from", func(c *verdict.Contrast) int { return c.IntervalN }),
		integer("look", "blocks at the interim analysis that gave the verdict, or at the last one", func(c *verdict.Contrast) int { return c.Look }),
		integer("projection", "blocks that a verdict would take, where that is known", func(c *verdict.Contrast) int { return c.Projection }),
		integer("family", "contrasts that share the error rate", func(c *verdict.Contrast) int { return c.Family }),
		figure("median_ratio", "", "median of the ratios of the blocks", ranged(func(c *verdict.Contrast) float64 { return c.Middle })),
		figure("least_ratio", "", "least of them", ranged(func(c *verdict.Contrast) float64 { return c.Least })),
		figure("largest_ratio", "", "largest of them", ranged(func(c *verdict.Contrast) float64 { return c.Most })),
		figure("environment_median", "unit", "median of the values in the environment", over(own, stats.Median)),
		figure("environment_least", "unit", "least of them", over(own, slices.Min[[]float64])),
		figure("environment_largest", "unit", "largest of them", over(own, slices.Max[[]float64])),
		figure("baseline_median", "unit", "median of the values in the baseline", over(base, stats.Median)),
		figure("baseline_least", "unit", "least of them", over(base, slices.Min[[]float64])),
		figure("baseline_largest", "unit", "largest of them", over(base, slices.Max[[]float64])),
		figure("outliers", "", "share of blocks beyond three scaled median absolute deviations, from 0 to 1", among(func(c *verdict.Contrast) any {
			if c.N == 0 {
				return nil
			}
			return c.OutlierShare
		})),
		figure("tail_p95", "", "95th percentile over the blocks, environment over baseline", among(func(c *verdict.Contrast) any { return positive(c.TailP95) })),
		figure("tail_p99", "", "99th percentile over the blocks, environment over baseline", among(func(c *verdict.Contrast) any { return positive(c.TailP99) })),
		{Column{Name: "paired", Type: Boolean, About: "whether blocks pair the values; not so of imported results without blocks"}, among(func(c *verdict.Contrast) any { return !c.Unpaired })},
		{Column{Name: "warnings", Type: Text, About: "caveats of the comparison, separated by semicolons"}, among(func(c *verdict.Contrast) any {
			return text(strings.Join(lists.Map(c.Warnings, verdict.Warning.String), "; "))
		})},
	}
}

// onNode is a contrast on one node.
type onNode struct {
	place
	verdict.Node
	all *verdict.Nodes
}

func (b *base) nodes() Table {
	var rows []onNode
	for _, in := range b.Rows() {
		for _, cell := range in.Metric.Cells {
			if cell.Contrast == nil || cell.Contrast.Nodes == nil {
				continue
			}
			for _, n := range cell.Contrast.Nodes.Each {
				rows = append(rows, onNode{place{in.Place().In(cell.Environment.Name), in.Metric}, n, cell.Contrast.Nodes})
			}
		}
	}
	figure := func(name, about string, of func(onNode) any) column[onNode] {
		return column[onNode]{Column{Name: name, Type: Number, About: about}, of}
	}
	columns := append(placeColumns(b, func(n onNode) place { return n.place }), []column[onNode]{
		{Column{Name: "node", Type: Text, About: "the node, or a pair `A+B`"}, func(n onNode) any { return n.Name }},
		{Column{Name: "lane", Type: Integer, About: "its number among the nodes of the run, from 1"}, func(n onNode) any { return count(b.lanes[n.Name]) }},
		{Column{Name: "blocks", Type: Integer, About: "blocks of the node with a value on both sides"}, func(n onNode) any { return int64(n.N) }},
		figure("ratio", "the estimate on this node", func(n onNode) any { return ratio(n.Interval.Estimate) }),
		figure("ratio_low", "lower end of its interval; the intervals of all nodes hold together at 95%", func(n onNode) any { return ratio(n.Interval.Low) }),
		figure("ratio_high", "upper end of its interval", func(n onNode) any { return ratio(n.Interval.High) }),
		{Column{Name: "differs", Type: Boolean, About: "whether the node differs from the others"}, func(n onNode) any { return n.Differs }},
		figure("p", "probability of nodes that differ as much if they are equal in truth; the same for all nodes of a contrast, as the following columns are", func(n onNode) any { return n.all.P }),
		figure("mean_ratio", "mean of nodes like these; missing with too few nodes or blocks", func(n onNode) any { return ratio(n.all.Mean.Estimate) }),
		figure("mean_low", "lower end of its 95% interval", func(n onNode) any { return ratio(n.all.Mean.Low) }),
		figure("mean_high", "upper end of its 95% interval", func(n onNode) any { return ratio(n.all.Mean.High) }),
		figure("spread", "standard deviation between nodes, of the natural logarithm of the ratio", func(n onNode) any {
			if math.IsNaN(n.all.Spread) {
				return nil
			}
			return n.all.Spread
		}),
	}...)
	return tableOf("nodes", "Of a run over several nodes: one row for each contrast on each node.", columns, rows)
}

// part is a part of a ladder.
type part struct {
	place
	analysis.Share
	of *analysis.Attribution
}

func (b *base) parts() Table {
	var rows []part
	for i := range b.Why {
		a := &b.Why[i]
		var m model.Metric
		m.Name, m.Unit, m.Better, m.Primary = a.Metric, a.Unit, a.Better, a.Primary
		for _, s := range append(append([]analysis.Share(nil), a.Parts...), a.Total) {
			rows = append(rows, part{place{subject.Cell{Environment: s.Contrast.Environment, Workload: a.Workload, Level: a.Level}, m}, s, a})
		}
	}
	figure := func(name, about string, of func(part) any) column[part] {
		return column[part]{Column{Name: name, Type: Number, About: about}, of}
	}
	end := func(of func(*verdict.Contrast) float64) func(part) any {
		return func(p part) any {
			if p.Contrast.N == 0 {
				return nil
			}
			return ratio(of(&p.Contrast))
		}
	}
	columns := append(placeColumns(b, func(p part) place { return p.place }), []column[part]{
		{Column{Name: "from", Type: Text, About: "the environment that the ladder begins with"}, func(p part) any { return p.of.From }},
		{Column{Name: "to", Type: Text, About: "the one that it ends with"}, func(p part) any { return p.of.To }},
		{Column{Name: "part", Type: Text, About: "key of the part that is switched on; `rest` is what no named part explains. Missing for the total"}, func(p part) any { return text(p.Part) }},
		{Column{Name: "title", Type: Text, About: "the part in words"}, func(p part) any { return text(p.Name) }},
		{Column{Name: "baseline", Type: Text, About: "environment without the part; the one of this row has it"}, func(p part) any { return text(p.Contrast.Baseline) }},
		{Column{Name: "orders", Type: Integer, About: "orders of the parts that the estimate is the mean of"}, func(p part) any { return int64(p.of.Orders) }},
		{Column{Name: "verdict", Type: Text, About: "the verdict; missing where there is none", Values: verdicts}, func(p part) any { return decision(&p.Contrast) }},
		{Column{Name: "reason", Type: Text, About: "why there is no verdict"}, func(p part) any { return text(p.Contrast.Reason.String()) }},
		figure("ratio", "the estimate, with the part over without it", end(func(c *verdict.Contrast) float64 { return c.Point() })),
		figure("ratio_low", "lower end of its interval; those of the parts hold together", end(func(c *verdict.Contrast) float64 { return c.Low })),
		figure("ratio_high", "upper end of its interval", end(func(c *verdict.Contrast) float64 { return c.High })),
		figure("before", "product of the ratios of the parts before: where the part begins in a waterfall", func(p part) any { return ratio(p.Before) }),
		figure("share", "logarithm of the ratio over that of the total; missing if the interval of the total includes 1, or without a verdict on the part that is decided", func(p part) any {
			if p.Of == nil || p.Part == "" {
				return nil
			}
			return *p.Of
		}),
		{Column{Name: "material", Type: Boolean, About: "whether the interval excludes 1 and does not lie within the margin, and the part is not equivalent to nothing"}, func(p part) any { return p.Material }},
		{Column{Name: "blocks", Type: Integer, About: "blocks with a value on both sides"}, func(p part) any { return count(p.Contrast.N) }},
	}...)
	return tableOf("parts", "Of a run over a ladder: one row for each part, and one for the total.", columns, rows)
}
