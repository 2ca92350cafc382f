package section

import (
	"math"
	"slices"
	"strconv"

	"tare/internal/report/model"
	"tare/internal/verdict"
)

// Percentiles are the distributions of a workload: the median of each percentile over the
// trials, which is not that of all operations together, with its change against the baseline.
func Percentiles(v *model.Report, w model.Workload) (parts []Part) {
	metrics := w.AllMetrics()
	for _, d := range v.Distributions(w) {
		t := measuresOf(v, w, "Percentiles of "+d.Name+" in "+w.Name, func(at measured) bool {
			return !at.Rung && at.Ran() && slices.ContainsFunc(d.Numbers, func(n int) bool {
				x, _ := at.Level.Metric(metrics[n].Name).At(at.Environment)
				return !math.IsNaN(x)
			})
		})
		for i, n := range d.Numbers {
			var cells []measure
			for _, at := range t.rows {
				x, c := at.Level.Metric(metrics[n].Name).At(at.Environment)
				cell := plain(model.Figure(x, d.Unit))
				if c != nil {
					cell = append(cell, Text{Text: " "}, Text{Text: model.EstimateText(c), Style: Verdict, Class: string(c.Verdict), About: verdict.Wording(*c)})
				}
				cells = append(cells, measure{x, cell, ""})
			}
			t.add(percentile(d.Percentiles[i]), cells)
		}
		t.Title, t.Sub = d.Name, true
		parts = append(parts, t.Part)
	}
	return parts
}

// percentile is the name of one: p99, least, largest.
func percentile(p float64) string {
	switch p {
	case 0:
		return "least"
	case 100:
		return "largest"
	}
	return "p" + strconv.FormatFloat(p, 'f', -1, 64)
}
