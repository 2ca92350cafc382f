package model

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/workload"
)

// CopiesRow is one primary metric, or the start time, of concurrent copies in one
// environment: medians over the trials of the combined value and of the
// distribution over the copies.
type CopiesRow struct {
	Workload, Level, Metric, Unit string
	Environment                   *Environment
	Copies                        int
	Together                      float64
	Each, Mean, P95, P99          float64
	Least, Most                   float64
	// Spread is the standard deviation of a trial's copies over their mean.
	Spread float64
}

// CopiesRows of all workloads that ran in several copies.
func (v *Report) CopiesRows() []CopiesRow {
	var rows []CopiesRow
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
					row := CopiesRow{Workload: w.Name, Level: l.Name, Metric: m.Title(), Unit: m.Unit, Environment: &v.Environments[i]}
					if v.fillCopies(&row, m.Name) {
						rows = append(rows, row)
					}
				}
			}
		}
	}
	return rows
}

func (v *Report) fillCopies(row *CopiesRow, metric string) bool {
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
		each, spread = append(each, stats.Median(figures)), append(spread, deviation/math.Abs(mean))
		means = append(means, mean)
		p95, p99 = append(p95, stats.Quantile(figures, .95)), append(p99, stats.Quantile(figures, .99))
		least, most = append(least, slices.Min(figures)), append(most, slices.Max(figures))
		if x, ok := t.Metrics[metric]; ok {
			together = append(together, x)
		}
	}
	row.Together, row.Each, row.Mean, row.P95, row.P99 = stats.Median(together), stats.Median(each), stats.Median(means), stats.Median(p95), stats.Median(p99)
	row.Least, row.Most, row.Spread = stats.Median(least), stats.Median(most), stats.Median(spread)
	return len(each) > 0
}
