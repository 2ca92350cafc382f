package section

import (
	"math"
	"slices"
	"strings"

	"tare/internal/report/model"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
)

// costs of a thousand operations. A terminal shows CPU time with the verdicts, and with
// --all the others as well.
func costs(v *model.Report, o Options) Section {
	s := Section{ID: "costs", Title: "Cost per thousand operations",
		Lead: "Medians over trials, for the whole environment, compared with " + v.Plan.Baseline + ". In parentheses: no verdict."}
	var zero, lines []string
	where := map[string][]string{}
	for _, w := range v.Workloads {
		all := costsOf(v, w, true)
		shown := all
		if o.Short {
			shown = costsOf(v, w, false)
		}
		if !(o.Short && o.All) && shown.columns > 0 {
			s.Parts = append(s.Parts, Part{Title: w.Name, Table: shown.Table, Numbered: shown.Numbered})
		}
		for _, name := range all.zero {
			if where[name] == nil {
				zero = append(zero, name)
			}
			where[name] = append(where[name], w.Name)
		}
		for _, one := range all.absent {
			if line := "no value for " + one.String(); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if o.Short && o.All {
		s.Lead = ""
	} else {
		for i, name := range zero {
			line := name + ": 0 in all environments"
			if len(where[name]) < len(v.Workloads) {
				line += " (" + strings.Join(where[name], ", ") + ")"
			}
			lines = slices.Insert(lines, i, line)
		}
	}
	if len(lines) > 0 {
		s.Parts = append(s.Parts, Part{Title: "Costs that are zero or missing", Notes: plains(lines)})
	}
	return s
}

// costsOf are the costs of a workload: all, or those that are not shown with the primary
// metrics.
func costsOf(v *model.Report, w model.Workload, all bool) *measures {
	t := measuresOf(v, w, "Cost per thousand operations of "+w.Name, func(at measured) bool { return at.Ran() && !at.Rung })
	for _, m := range w.Pack.Metrics {
		c, known := cost.Lookup(m.Name)
		if known && !slices.ContainsFunc(w.Levels, func(l model.Level) bool { return l.Metric(m.Name) != nil }) {
			t.without(c.Title, v.MissingReason(w.Levels[0].Place(w).In(v.Plan.Baseline).Of(m.Name)))
		}
	}
	for _, m := range w.AllMetrics() {
		c, known := cost.Lookup(m.Name)
		if !known || !all && m.Companion {
			continue
		}
		var cells []measure
		for _, at := range t.rows {
			c := costCell(at.Level.Metric(m.Name), at.Environment)
			if math.IsNaN(c.value) && c.reason == "" {
				c.reason = v.MissingReason(at.Place(w).In(at.Environment.Name).Of(m.Name))
			}
			cells = append(cells, c)
		}
		t.column(c.Title, cells)
	}
	return t
}

// costCell is a cost with its change against the baseline.
func costCell(m *model.Metric, e *model.Environment) measure {
	if m == nil {
		return measure{math.NaN(), plain(model.Missing), ""}
	}
	unit := model.ShortUnit(m.Unit)
	if e.Baseline {
		return measure{m.Reference, plain(model.Figure(m.Reference, unit)), ""}
	}
	of := m.Cell(e.Name)
	c := measure{of.Median, plain(model.Figure(of.Median, unit)), ""}
	switch {
	case of.Contrast != nil:
		c.cell = append(c.cell, Text{Text: " " + costChange(of.Contrast), Style: Quiet})
	case math.IsNaN(of.Median):
		c.reason = of.Reason
	case math.IsNaN(m.Reference) || of.Median == 0 && m.Reference == 0: // no change to explain
	case of.NoRatio:
		c.reason = "no change: one side is 0, so there is no ratio"
	default:
		c.reason = "no change: " + of.Reason
	}
	return c
}

// costChange is a change of a cost: 4.0% more, 2.1% less, equivalent. In parentheses it is
// no verdict.
func costChange(c *verdict.Contrast) string {
	switch c.Verdict {
	case verdict.Equivalent:
		return "equivalent"
	case verdict.Slower, verdict.Faster:
		text := model.EstimateText(c)
		if size, more := strings.CutPrefix(text, "+"); more {
			return size + " more"
		}
		if size, less := strings.CutPrefix(text, "-"); less {
			return size + " less"
		}
		return text // as a factor
	}
	return "(" + model.EstimateText(c) + ")"
}
