package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/workload"
)

// copiesRow is how the copies of a workload that ran at once fared in one
// environment, by one primary metric or the start itself: the medians over the
// trials of what they came to together, and of how a copy's figure is spread.
type copiesRow struct {
	Workload, Level, Metric, Unit string
	Environment                   *environmentView
	Copies                        int
	Together                      float64
	Each, Mean, P95, P99          float64
	Least, Most                   float64
	// Spread is the standard deviation of a trial's copies over their mean.
	Spread float64
}

// CopiesRows of all workloads that ran in several copies.
func (v *view) CopiesRows() []copiesRow {
	var rows []copiesRow
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			if l.Instances < 2 {
				continue
			}
			for _, m := range l.Metrics {
				if !m.Primary && !(w.Pack.Startup && m.Name == workload.StartSeconds) || w.Pack.Startup && m.FieldName() != m.Name {
					continue // a start's percentiles are columns
				}
				for i := range v.Environments {
					row := copiesRow{Workload: w.Name, Level: l.Name, Metric: m.title(), Unit: m.Unit, Environment: &v.Environments[i]}
					if v.fillCopies(&row, m.Name) {
						rows = append(rows, row)
					}
				}
			}
		}
	}
	return rows
}

func (v *view) fillCopies(row *copiesRow, metric string) bool {
	var together, each, means, p95, p99, least, most, spread []float64
	for _, t := range v.Trials {
		if t.Status != rundir.OK || t.Workload != row.Workload || t.Level != row.Level || t.Environment != row.Environment.Name {
			continue
		}
		var figures []float64
		for _, c := range t.Copies {
			if x, ok := c.Metrics[metric]; ok {
				figures = append(figures, x)
			}
		}
		if len(figures) < 2 {
			continue
		}
		row.Copies = len(figures)
		mean, deviation := stat.MeanStdDev(figures, nil)
		each, spread = append(each, median(figures)), append(spread, deviation/math.Abs(mean))
		means = append(means, mean)
		p95, p99 = append(p95, stats.Quantile(figures, .95)), append(p99, stats.Quantile(figures, .99))
		least, most = append(least, slices.Min(figures)), append(most, slices.Max(figures))
		if x, ok := t.Metrics[metric]; ok {
			together = append(together, x)
		}
	}
	row.Together, row.Each, row.Mean, row.P95, row.P99 = median(together), median(each), median(means), median(p95), median(p99)
	row.Least, row.Most, row.Spread = median(least), median(most), median(spread)
	return len(each) > 0
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return missing
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// copies prints a table a workload at a level.
func (t *terminal) copies(rows []copiesRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, "Copies at once"))
	t.wrap(2, "medians over the trials; least to most within a trial")
	last := ""
	for _, r := range rows {
		if heading := place(r.Workload, r.Level) + ": " + r.Metric; heading != last {
			t.wrap(2, t.paint(dim, heading))
			last = heading
		}
		t.wrap(4, fmt.Sprintf("%s: %d copies, together %s; median %s, mean %s, p95 %s, p99 %s (%s to %s, spread %s)", r.Environment.Shown, r.Copies,
			brief(r.Together, r.Unit), brief(r.Each, r.Unit), brief(r.Mean, r.Unit), brief(r.P95, r.Unit), brief(r.P99, r.Unit), brief(r.Least, r.Unit), brief(r.Most, r.Unit), percent(r.Spread)))
	}
}

func markdownCopies(b *strings.Builder, rows []copiesRow) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## Copies at once\n\nMedians over the trials; the spread is the standard deviation of a trial's copies over their mean.\n\n" +
		"| workload | metric | environment | copies | together | median | mean | p95 | p99 | least | most | spread |\n|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", escape(place(r.Workload, r.Level)), escape(r.Metric), escape(r.Environment.Shown),
			r.Copies, figure(r.Together, r.Unit), figure(r.Each, r.Unit), figure(r.Mean, r.Unit), figure(r.P95, r.Unit), figure(r.P99, r.Unit), figure(r.Least, r.Unit), figure(r.Most, r.Unit), percent(r.Spread))
	}
}
