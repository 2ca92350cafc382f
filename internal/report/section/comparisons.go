package section

import (
	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/verdict"
)

// named is an environment with its label.
func named(name, label string) Cell {
	if label == "" {
		return plain(name)
	}
	return Cell{{Text: name}, {Text: label, Style: Label}}
}

func environment(e *model.Environment) Cell { return named(e.Name, e.Facts.Label) }

// judged is the verdict of a contrast, with the mark of a confound.
func judged(c *verdict.Contrast) Cell {
	cell := Cell{{Text: model.VerdictWord(c), Style: Verdict, Class: string(c.Verdict)}}
	if mark := model.ConfoundMark(c); mark != "" {
		cell = append(cell, Text{Text: mark, Style: Mark})
	}
	return cell
}

func nodes(v *model.Report, _ Options) Section {
	s := Section{ID: "nodes", Title: "Nodes", Lead: "Each primary comparison on each node, with intervals that hold for all nodes together. " +
		"The mean is that of nodes like these, with its interval and the standard deviation between nodes; p is the probability of nodes that differ as much by chance. " +
		"Verdicts are about the blocks of all nodes."}
	t := &Table{About: "Comparisons by node", Columns: []Column{group("workload"), group("metric"), group("environment"), key("node"), number("blocks"), number("change"), ends("interval").say("%s,"), column("remark")}}
	for _, r := range v.NodesRows() {
		place := model.LevelTitle(r.Workload, r.Level)
		for _, line := range r.Lines {
			t.Rows = append(t.Rows, Line(place, r.Metric, environment(r.Environment), line.Node, line.Blocks, line.Change, line.Interval, line.Remark))
		}
		if text := r.OmittedText(); text != "" {
			t.Rows = append(t.Rows, Line(place, r.Metric, environment(r.Environment), text))
		}
	}
	return s.of(t)
}

// of is the section with a table, or without parts if the table has no rows.
func (s Section) of(t *Table) Section {
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, Part{Table: t})
	}
	return s
}

func capacities(v *model.Report, _ Options) Section {
	s := Section{ID: "capacity", Title: "Capacity", Details: true,
		Lead: "The highest rate of requests that holds the objective, with its interval over the blocks, and how many instances serve the traffic of one of " + v.Plan.Baseline + "."}
	t := &Table{Columns: []Column{group("workload"), group("objective"), key("environment"), number("capacity"), ends("interval").say("%s,"), ends("instances"), ends("more instances").spare(1), number("blocks")}}
	for _, r := range v.Capacities() {
		t.Rows = append(t.Rows, Line(model.LevelTitle(r.Workload, r.Level), r.Objective, named(r.Environment, r.Label), r.Value(), r.Span(), r.Machines(), r.More(), r.N))
	}
	return s.of(t)
}

func atLoads(v *model.Report, _ Options) Section {
	s := Section{ID: "at-load", Title: "The same traffic", Details: true, Lead: "What the same rate takes in all environments, at a share of the capacity of " + v.Plan.Baseline +
		": medians over the blocks, and the change of the CPU time of an operation."}
	t := &Table{Columns: []Column{group("workload"), key("environment"), number("requests"), number("cores"), ends("more cores"), number("memory"), number("blocks")}}
	for _, r := range v.AtLoads() {
		t.Rows = append(t.Rows, Line(model.LevelTitle(r.Workload, r.Level), named(r.Environment, r.Label), r.RateText(), r.CoresText(), r.MoreText(), r.MemoryText(), r.N))
	}
	return s.of(t)
}

func within(v *model.Report, _ Options) Section {
	s := Section{ID: "within", Title: "Effect of more neighbours or copies", Details: true,
		Lead: "How the metric of an environment changes as neighbours or copies are added, from the same blocks and by the same procedure as the verdicts. For the comparison with " +
			v.Plan.Baseline + " at the same level, see the verdicts."}
	t := &Table{Columns: []Column{group("workload"), group("reference level"), group("metric"), key("environment"), number("reference value"), number("value"), number("change"), ends("interval").say("%s,"),
		column("verdict"), number("blocks").spare(1)}}
	for _, r := range v.WithinRows() {
		c := r.Contrast
		before := []any{model.LevelTitle(r.Workload, r.Level), "vs " + r.BaseLevel, r.Metric + ", " + r.Better + " is better", named(r.Name, r.Label)}
		if c.NoRatio() {
			t.Rows = append(t.Rows, Line(append(before, model.NoRatioReason(c))...))
			continue
		}
		t.Rows = append(t.Rows, Line(append(before, model.Figure(c.Base.Median, r.Unit), model.Figure(c.Values.Median, r.Unit), model.EstimateText(c), model.IntervalText(c), judged(c), model.BlockCount(c))...))
	}
	return s.of(t)
}

func growths(v *model.Report, _ Options) Section {
	s := Section{ID: "growth", Title: "Cost of each additional instance", Details: true,
		Lead: "The Theil-Sen slope over the levels of a block; over the blocks, the Hodges-Lehmann estimate with its interval."}
	t := &Table{Columns: []Column{group("workload"), group("metric"), key("environment"), number("per instance"), ends("interval").say("%s,"), ends("vs " + v.Plan.Baseline), number("blocks")}}
	for _, r := range v.Growths() {
		t.Rows = append(t.Rows, Line(model.LevelTitle(r.Workload, r.Level), r.Metric, named(r.Environment, r.Label), model.Figure(r.Each.Estimate, r.Unit), r.Span(), r.Against(), r.N))
	}
	return s.of(t)
}

func copies(v *model.Report, _ Options) Section {
	s := Section{ID: "copies", Title: "Concurrent copies", Details: true,
		Lead: "Workloads that ran as several copies at the same time: medians over trials. The spread is the standard deviation over the copies of a trial, divided by their mean."}
	t := &Table{Columns: []Column{group("workload"), group("metric"), key("environment"), number("copies").say("%s copies,"), number("combined"), number("median"), number("mean"), number("p95"), number("p99"),
		number("min"), number("max"), number("spread")}}
	for _, r := range v.CopiesRows() {
		shown := Line(model.LevelTitle(r.Workload, r.Level), r.Metric, environment(r.Environment), r.Copies)
		for _, x := range []float64{r.Together, r.Each, r.Mean, r.P95, r.P99, r.Least, r.Most} {
			shown.Cells = append(shown.Cells, plain(model.Figure(x, r.Unit)))
		}
		shown.Cells = append(shown.Cells, plain(model.Percent(r.Spread)))
		t.Rows = append(t.Rows, shown)
	}
	return s.of(t)
}

func starts(v *model.Report, o Options) Section {
	s := Section{ID: "start", Title: "Start time", Details: true, Lead: "From the start call to the agent's first message, by phase. Means over the starts, so that the phases add up."}
	if o.Short || len(v.Phases) == 0 {
		return s
	}
	t := &Table{About: "Phases of the start", Columns: append(append([]Column{key("environment")}, lists.Map(v.PhaseNames(), number)...), number("sum"), number("starts"))}
	for _, p := range v.Phases {
		r := Line(environment(p.Environment))
		for _, part := range p.Parts {
			text := "none"
			if part.Known {
				text = model.Figure(part.Seconds, "s")
			}
			r.Cells = append(r.Cells, plain(text))
		}
		t.Rows = append(t.Rows, Row{Cells: append(r.Cells, Line(model.Figure(p.Total, "s"), p.Starts).Cells...)})
	}
	s.Parts = []Part{{Chart: "phases", Table: t}}
	return s
}

func against(v *model.Report, _ Options) Section {
	if v.Against == nil {
		return Section{}
	}
	p := Part{Lead: plain(v.Against.Study.Source.Title + ". " + v.AgainstLead()), Notes: plains(v.AgainstRemarks())}
	if len(v.Against.Rows) > 0 {
		p.Table = &Table{About: "Published and measured ratios", Columns: []Column{group("workload"), group("metric"), group("source"), key("environment"), number("published"), number("measured"), ends("interval").say("%s,"), column("compared").say("%s")}}
	}
	for _, r := range v.Against.Rows {
		p.Table.Rows = append(p.Table.Rows, Line(model.LevelTitle(r.Workload, r.Level), r.Metric, r.Place, v.AgainstName(r), verdict.Change(r.Published), verdict.Change(r.Measured), r.Interval(), r.Compared()))
	}
	return Section{ID: "against", Title: "Compared with " + v.Against.Study.Study, Parts: []Part{p}}
}

// Comparisons are the verdicts of a level, the primary metrics or all.
func Comparisons(v *model.Report, l model.Level, all bool) *Table {
	t := &Table{Columns: []Column{group(""), key(""), number("").spare(2), number(""), column("").spare(3), column(""), column("").spare(1)}}
	for _, m := range l.Metrics {
		if !all && !m.Primary && !m.Companion {
			continue
		}
		t.Rows = append(t.Rows, Line(m.Heading(), v.Base.Shown, model.ShortFigure(m.Reference, m.Unit), "baseline", "", "", ""))
		for _, c := range m.Ran() { // an environment that did not is listed once, with its fix
			k := c.Contrast
			if k == nil {
				t.Rows = append(t.Rows, Line(m.Heading(), c.Environment.Shown, model.Missing+", "+c.Reason))
				continue
			}
			t.Rows = append(t.Rows, Line(m.Heading(), c.Environment.Shown, model.ShortFigure(c.Median, m.Unit), model.EstimateText(k), model.IntervalText(k), judged(k), model.BlockCount(k)))
			if remark := model.Remark(k); remark != "" {
				t.Rows = append(t.Rows, Line(m.Heading(), "", remark))
			}
		}
	}
	return t
}
