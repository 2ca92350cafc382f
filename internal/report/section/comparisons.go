package section

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/papers/published"
	"tare/internal/report/model"
	"tare/internal/stats"
	"tare/internal/verdict"
	"tare/internal/workload"
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
	for _, r := range v.Primary() {
		for _, c := range r.Metric.Ran() {
			if c.Contrast != nil && c.Contrast.Nodes != nil {
				before := []any{r.Title(), r.Metric.Title(), environment(c.Environment)}
				t.Rows = append(t.Rows, nodeRows(before, c.Contrast.Nodes)...)
			}
		}
	}
	return s.of(t)
}

// nodeRows are a comparison on each notable node, and the mean of all.
func nodeRows(before []any, n *verdict.Nodes) (rows []Row) {
	add := func(cells ...any) { rows = append(rows, Line(slices.Concat(before, cells)...)) }
	blocks, notable := 0, model.Notable(n)
	for _, one := range n.Each {
		blocks += one.N
	}
	for _, one := range notable {
		remark := ""
		if one.Differs {
			remark = "differs from the others"
		}
		i := one.Interval
		add(one.Name, one.N, verdict.Change(i.Estimate), verdict.EndsText(i.Estimate, i.Low, i.High), remark)
	}
	change, interval, remark := model.Missing, "too few nodes or blocks", ""
	if !math.IsNaN(n.Spread) {
		change, interval = verdict.Change(n.Mean.Estimate), verdict.EndsText(n.Mean.Estimate, n.Mean.Low, n.Mean.High)
		remark = fmt.Sprintf("standard deviation %.1f%%, ", 100*math.Expm1(n.Spread))
	}
	if n.P < 1 || remark != "" {
		remark += fmt.Sprintf("p = %.2g", n.P)
	}
	add("mean of nodes", blocks, change, interval, remark)
	if omitted := len(n.Each) - len(notable); omitted > 0 {
		add(fmt.Sprintf("%d more nodes, with changes in between", omitted))
	}
	return rows
}

// of is the section with a table, or without parts if the table has no rows.
func (s Section) of(t *Table) Section {
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, Part{Table: t})
	}
	return s
}

func capacities(v *model.Report, _ Options) Section {
	s := Section{ID: "capacity", Title: "Capacity",
		Lead: "The highest rate of requests that holds the objective, with its interval over the blocks, and how many instances serve the traffic of one of " + v.Plan.Baseline + "."}
	t := &Table{Columns: []Column{group("workload"), group("objective"), key("environment"), number("capacity"), ends("interval").say("%s,"), ends("instances"), ends("more instances").spare(1), number("blocks")}}
	for _, r := range verdict.Capacities(v.Plan, v.Trials, v.Contrasts, v.Manifest.Environments) {
		t.Rows = append(t.Rows, Line(model.LevelTitle(r.Workload, r.Level), r.Objective, named(r.Environment, r.Label), model.Figure(r.Rate.Estimate, r.Unit),
			span(r.Bounded(), r.Rate, r.Least, r.Most, r.Unit), times(r.Instances, ""), changed(r.Instances), r.N))
	}
	return s.of(t)
}

func atLoads(v *model.Report, _ Options) Section {
	s := Section{ID: "at-load", Title: "The same traffic", Lead: "What the same rate takes in all environments, at a share of the capacity of " + v.Plan.Baseline +
		": medians over the blocks, and the change of the CPU time of an operation."}
	t := &Table{Columns: []Column{group("workload"), key("environment"), number("requests"), number("cores"), ends("more cores"), number("memory"), number("blocks")}}
	for _, r := range verdict.AtLoads(v.Plan, v.Trials, v.Contrasts, v.Manifest.Environments) {
		cores := model.Missing
		if !math.IsNaN(r.Cores) {
			cores = model.Digits(r.Cores)
		}
		t.Rows = append(t.Rows, Line(model.LevelTitle(r.Workload, r.Level), named(r.Environment, r.Label), model.Figure(r.Rate, "op/s"), cores, changed(r.More), model.Figure(r.Memory, "B"), r.N))
	}
	return s.of(t)
}

// span is an interval, or the range if there are too few blocks for one.
func span(bounded bool, of stats.Interval, least, most float64, unit string) string {
	if bounded {
		return "[" + model.Figure(of.Low, unit) + ", " + model.Figure(of.High, unit) + "]"
	}
	return "range " + model.Figure(least, unit) + " to " + model.Figure(most, unit)
}

// limited reports whether a ratio has an interval with both ends.
func limited(ratio stats.Interval) bool { return ratio.Low > 0 && !math.IsInf(ratio.High, 1) }

// times is a ratio as a factor; "" where it is unknown, as that of the baseline is.
func times(ratio stats.Interval, sign string) string {
	if math.IsNaN(ratio.Estimate) {
		return ""
	}
	text := sign + model.Digits(ratio.Estimate)
	if limited(ratio) {
		text += " [" + model.Digits(ratio.Low) + ", " + model.Digits(ratio.High) + "]"
	}
	return text
}

// changed is a ratio as a change; "" where it is unknown.
func changed(ratio stats.Interval) string {
	estimate, low, high := math.Log(ratio.Estimate), math.Log(ratio.Low), math.Log(ratio.High)
	switch {
	case math.IsNaN(ratio.Estimate):
		return ""
	case !limited(ratio):
		return verdict.Change(estimate)
	}
	return verdict.Change(estimate) + " " + verdict.EndsText(estimate, low, high)
}

func within(v *model.Report, _ Options) Section {
	s := Section{ID: "within", Title: "Effect of more neighbours or copies",
		Lead: "How the metric of an environment changes as neighbours or copies are added, from the same blocks and by the same procedure as the verdicts. For the comparison with " +
			v.Plan.Baseline + " at the same level, see the verdicts."}
	t := &Table{Columns: []Column{group("workload"), group("reference level"), group("metric"), key("environment"), number("reference value"), number("value"), number("change"), ends("interval").say("%s,"),
		column("verdict"), number("blocks").spare(1)}}
	all := verdict.Within(v.Plan, v.Trials, v.Manifest)
	for i := range all {
		c := &all[i]
		before := []any{model.LevelTitle(c.Workload, c.Level), "vs " + c.BaseLevel, c.Metric + ", " + c.Better + " is better", named(c.Environment, c.Label)}
		switch {
		case !c.Primary:
		case c.NoRatio():
			t.Rows = append(t.Rows, Line(append(before, model.NoRatioReason(c))...))
		case c.N > 0:
			t.Rows = append(t.Rows, Line(append(before, model.Figure(c.Base.Median, c.Unit), model.Figure(c.Values.Median, c.Unit), model.EstimateText(c), model.IntervalText(c), judged(c), model.BlockCount(c))...))
		}
	}
	return s.of(t)
}

func growths(v *model.Report, _ Options) Section {
	s := Section{ID: "growth", Title: "Cost of each additional instance",
		Lead: "The Theil-Sen slope over the levels of a block; over the blocks, the Hodges-Lehmann estimate with its interval."}
	t := &Table{Columns: []Column{group("workload"), group("metric"), key("environment"), number("per instance"), ends("interval").say("%s,"), ends("vs " + v.Plan.Baseline), number("blocks")}}
	for _, r := range verdict.Growths(v.Plan, v.Trials, v.Manifest.Environments) {
		ratio := "" // unless too few of the blocks have one
		if r.Ratio.Bounded() || r.Paired >= r.N {
			ratio = times(r.Ratio, "×")
		}
		t.Rows = append(t.Rows, Line(model.LevelTitle(r.Workload, r.Level), r.Metric, named(r.Environment, r.Label), model.Figure(r.Each.Estimate, r.Unit), span(r.Bounded(), r.Each, r.Least, r.Most, r.Unit), ratio, r.N))
	}
	return s.of(t)
}

func copies(v *model.Report, _ Options) Section {
	s := Section{ID: "copies", Title: "Concurrent copies",
		Lead: "Workloads that ran as several copies at the same time: medians over trials. The spread is the standard deviation over the copies of a trial, divided by their mean."}
	t := &Table{Columns: []Column{group("workload"), group("metric"), key("environment"), number("copies").say("%s copies,"), number("combined"), number("median"), number("mean"), number("p95"), number("p99"),
		number("min"), number("max"), number("spread")}}
	for _, r := range v.CopiesRows() {
		shown := Line(model.LevelTitle(r.Workload, r.Level), r.Metric, environment(r.Environment), r.Copies)
		for _, x := range []float64{r.Together, r.Each, r.Mean, r.P95, r.P99, r.Least, r.Most} {
			shown.Cells = append(shown.Cells, plain(model.ShortFigure(x, r.Unit)))
		}
		shown.Cells = append(shown.Cells, plain(model.Percent(r.Spread)))
		t.Rows = append(t.Rows, shown)
	}
	return s.of(t)
}

func starts(v *model.Report, o Options) Section {
	s := Section{ID: "start", Title: "Start time", Lead: "From the start call to the agent's first message, by phase. Means over the starts, so that the phases add up."}
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

// claims are those of a published study, judged by the run.
func claims(v *model.Report, _ Options) Section {
	if v.Against == nil || len(v.Against.Claims) == 0 {
		return Section{}
	}
	t := &Table{About: "Claims of the study, judged by this run", Lines: true, Columns: []Column{key("claim"), column("source"), column("claimed").say("claimed: %s"), column("here"), column("verdict")}}
	for _, l := range v.Against.ClaimLines() {
		t.Rows = append(t.Rows, Line(l.Says, l.Place, l.Claimed, l.Here, string(l.Outcome)))
	}
	lead := published.Summed(v.Against.Claims) + ". A claim about a size holds where its direction does; what differs by less than the margin is no difference. Each interval is " + v.Plan.Design.Confidence.String() + " for its figure; of several figures all must hold."
	return Section{ID: "claims", Title: "Claims of " + v.Against.Study.Study, Nav: "Claims", Parts: []Part{{Lead: plain(lead), Table: t}}}
}

func against(v *model.Report, _ Options) Section {
	if v.Against == nil {
		return Section{}
	}
	p := Part{Lead: plain(v.Against.Study.Source.Title + ". " + v.AgainstLead()), Notes: plains(v.AgainstRemarks())}
	if len(v.Against.Rows) > 0 {
		p.Table = &Table{About: "Published and measured ratios", Columns: []Column{group("workload"), group("metric"), group("source"), key("environment"), number("published"), number("measured"), ends("interval").say("%s,"), column("compared").say("%s"), column("differs").say("%s")}}
	}
	for _, r := range v.Against.Rows {
		p.Table.Rows = append(p.Table.Rows, Line(model.LevelTitle(r.Workload, r.Level), r.Metric, r.Place, v.AgainstName(r), verdict.Change(r.Published), verdict.Change(r.Measured), r.Interval(), r.Compared(), r.Differs))
	}
	return Section{ID: "against", Title: "Compared with " + v.Against.Study.Study, Parts: []Part{p}}
}

// sourceFigures are those of a published study, in its order and with its numbers.
func sourceFigures(v *model.Report, _ Options) Section {
	if v.Figures == nil {
		return Section{}
	}
	s := Section{ID: "figures", Title: "Figures of " + v.Figures.Study.Study, Nav: "Figures",
		Lead: "The figures of " + v.Figures.Study.Source.Title + ", drawn from this run in the way of the source, beside tare's values with their intervals. The formats html, svg and pdf draw them."}
	for _, f := range v.Figures.Drawn() {
		s.Parts = append(s.Parts, Part{Title: f.Place + ": " + f.Shows, Figure: f})
	}
	if missing := v.Figures.Missing(); len(missing) > 0 {
		s.Parts = append(s.Parts, Part{Title: "Not drawn", Notes: plains(missing)})
	}
	return s
}

// Comparisons are the verdicts of a workload at some levels: of the primary metrics, or of
// all. In a paper, the heading has the unit of the medians below it.
func Comparisons(v *model.Report, levels []model.Level, o Options) *Table {
	t := &Table{Slim: true, Columns: []Column{group(""), key(""), number("").spare(3), number(""), column("").spare(3), column(""), column("").spare(3)}}
	if o.Paper {
		t.Columns = []Column{group(""), key(""), number("median"), number("change"), ends(v.Plan.Design.Confidence.String() + " interval"), column("verdict"), number("n")}
	}
	for _, l := range levels {
		for _, m := range l.Metrics {
			if m.Primary || m.Failures || !o.Paper && (o.All || m.Companion) {
				t.Rows = append(t.Rows, comparisons(v, l, m, o)...)
			}
		}
	}
	return t
}

func comparisons(v *model.Report, l model.Level, m model.Metric, o Options) (rows []Row) {
	heading, median := m.Heading(), func(x float64) string { return model.ShortFigure(x, m.Unit) }
	if o.Paper {
		scale := model.Scale{Factor: 1, Suffix: m.Unit}
		if !math.IsNaN(m.Reference) {
			scale = model.ScaleFor(m.Reference, m.Unit)
		}
		heading, median = m.Title(), func(x float64) string { return model.In(scale, x) }
		if l.Name != "" {
			heading = l.Name + ": " + heading
		}
		if unit := strings.TrimSpace(scale.Suffix); unit != "" {
			heading += ", " + unit
		}
		heading += ", " + m.Better + " is better"
	}
	if m.Name == workload.ErrorRatio {
		median = verdict.ShareText
	}
	add := func(cells ...any) { rows = append(rows, Line(append([]any{heading}, cells...)...)) }
	bar := lengths(m)
	if o.Paper {
		add(v.Base.Shown, median(m.Reference), "", "", "", "")
	} else {
		add(v.Base.Shown, median(m.Reference), "baseline", "", "", "")
		rows[0].Bar = bar(0)
	}
	for _, c := range m.Ran() { // an environment that did not is listed once, with its fix
		k := c.Contrast
		switch {
		case m.Failures && !math.IsNaN(c.Median):
			add(c.Environment.Shown, median(c.Median), "", "", "", "")
		case k == nil && o.Paper:
			add(c.Environment.Shown, median(c.Median), "", "", model.Missing, "")
		case k == nil:
			add(c.Environment.Shown, model.Missing+", "+c.Reason)
		case o.Paper:
			add(c.Environment.Shown, median(c.Median), model.EstimateText(k), model.IntervalText(k), judged(k), k.N)
		default:
			add(c.Environment.Shown, median(c.Median), model.EstimateText(k), shorter("range ", model.IntervalText(k), ""), judged(k), shorter("", model.BlockCount(k), " of "))
			if !k.Withheld() {
				rows[len(rows)-1].Bar = bar(k.Point())
			}
			if remark := model.Remark(k); remark != "" {
				add("", remark)
			}
		}
	}
	return rows
}

// shorter is a text without what stands behind a word where there is no room, and then without
// its beginning.
func shorter(beginning, text, behind string) Cell {
	cell := Cell{}
	if rest, ok := strings.CutPrefix(text, beginning); ok && beginning != "" {
		cell, text = Cell{{Text: beginning, Spare: 2}}, rest
	}
	if i := strings.Index(text, behind); behind != "" && i >= 0 {
		return append(cell, Text{Text: text[:i]}, Text{Text: text[i:], Spare: 1})
	}
	return append(cell, Text{Text: text})
}

// lengths returns the bar of a change: as long as the value beside the baseline's, of which
// the largest is a whole bar. There is none where nothing is compared.
func lengths(m model.Metric) func(change float64) *Bar {
	most, some := 0.0, false
	for _, c := range m.Ran() {
		if k := c.Contrast; k != nil && !k.Withheld() && !k.NoRatio() && k.N > 0 {
			most, some = math.Max(most, k.Point()), true
		}
	}
	return func(change float64) *Bar {
		if !some || math.IsNaN(change) {
			return nil
		}
		return &Bar{To: math.Exp(change - most)}
	}
}

// Matrix is the change in some environments, with its interval and verdict: a row for each
// primary metric.
func Matrix(v *model.Report, environments []model.Environment) *Table {
	t := &Table{Columns: []Column{key("workload"), key("metric")}}
	for _, e := range environments {
		t.Columns = append(t.Columns, Column{Over: e.Shown, Head: "%", Number: true}, Column{Over: e.Shown, Head: "interval", Class: "ends"}, Column{Over: e.Shown})
	}
	for _, r := range v.Primary() {
		row := Line(r.Workload.Name, model.LevelTitle(r.Metric.Name, r.Level.Name))
		for _, e := range environments {
			change, interval, verdict := plain(model.Missing), plain(""), plain("")
			if c := r.Metric.Cell(e.Name); c != nil && c.Contrast != nil {
				change, interval, verdict = plain(model.EstimateText(c.Contrast)), plain(model.IntervalText(c.Contrast)), judged(c.Contrast)
			}
			row.Cells = append(row.Cells, change, interval, verdict)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
