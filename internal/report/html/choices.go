package html

import (
	"fmt"

	"tare/internal/report/model"
)

// choice is what a chart can show: the first is selected, or a primary metric.
type choice struct {
	Value, Text string
	Selected    bool
}

// numbered is a metric with the number that the charts know it by.
type numbered struct {
	model.Metric
	Number int
}

// plotted are the metrics that get an interval plot: the primary ones and CPU
// time per thousand operations.
func plotted(w model.Workload) []numbered {
	var kept []numbered
	for i, m := range w.AllMetrics() {
		if m.Primary || m.Companion {
			kept = append(kept, numbered{m, i})
		}
	}
	return kept
}

// chart is a drawing of the script about a workload, with what it can show.
type chart struct {
	Kind, Title, Label string
	Workload           int
	Choices            []choice
}

// Charts of a workload, besides the intervals and the percentiles.
func (p *page) Charts(w model.Workload) (charts []chart) {
	if w.Swept() {
		charts = append(charts, chart{"curves", "Over levels ", "metric", w.Index, metricsAt(w, []model.Level{{}})}) // all levels at once
	}
	charts = append(charts, chart{"trials", "Every trial ", "metric", w.Index, metricsAt(w, w.Levels)})
	var series []choice
	for _, name := range seriesNames(p.Report, w.Name) {
		series = append(series, levelsOf(name, name, w.Levels)...)
	}
	if series != nil {
		charts = append(charts, chart{"series", "Over time ", "series", w.Index, selected(series)})
	}
	return charts
}

// PercentileChart is the chart of the percentiles of a workload.
func (p *page) PercentileChart(w model.Workload) chart {
	c := chart{"percentiles", "", "distribution", w.Index, nil}
	for i, d := range p.Distributions(w) {
		c.Choices = append(c.Choices, levelsOf(fmt.Sprint(i), d.Name, w.Levels)...)
	}
	selected(c.Choices)
	return c
}

func metricsAt(w model.Workload, levels []model.Level) (all []choice) {
	chosen := false
	for i, m := range w.AllMetrics() {
		at := levelsOf(fmt.Sprint(i), m.Title(), levels)
		at[0].Selected = m.Primary && !chosen
		chosen = chosen || m.Primary
		all = append(all, at...)
	}
	return all
}

// levelsOf are the choices of one thing at each level.
func levelsOf(value, text string, levels []model.Level) (all []choice) {
	for j, l := range levels {
		all = append(all, choice{Value: fmt.Sprintf("%s,%d", value, j), Text: model.LevelTitle(text, l.Name)})
	}
	return all
}

// selected selects the first of some choices.
func selected(all []choice) []choice {
	if len(all) > 0 {
		all[0].Selected = true
	}
	return all
}
