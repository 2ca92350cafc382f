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

// choices of the metrics of a workload, for the plot of every trial.
func choices(w model.Workload) []choice { return metricsAt(w, w.Levels) }

// metricChoices are for the curves, which show all levels at once.
func metricChoices(w model.Workload) []choice { return metricsAt(w, []model.Level{{}}) }

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
