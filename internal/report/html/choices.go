package html

import (
	"fmt"

	"tare/internal/report/model"
)

// choice is one metric at one level that a chart can show.
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

// choices for the plot of every trial.
func choices(w model.Workload) []choice {
	var all []choice
	chosen := false
	for i, m := range w.AllMetrics() {
		for j, l := range w.Levels {
			c := choice{Value: fmt.Sprintf("%d,%d", i, j), Text: m.Title()}
			if l.Name != "" {
				c.Text += ", " + l.Name
			}
			if m.Primary && !chosen {
				c.Selected, chosen = true, true
			}
			all = append(all, c)
		}
	}
	return all
}

// metricChoices for the curves, which show all levels at once.
func metricChoices(w model.Workload) []choice {
	var all []choice
	chosen := false
	for i, m := range w.AllMetrics() {
		c := choice{Value: fmt.Sprintf("%d,0", i), Text: m.Title()}
		if m.Primary && !chosen {
			c.Selected, chosen = true, true
		}
		all = append(all, c)
	}
	return all
}
