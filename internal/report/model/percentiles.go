package model

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Distribution is what a workload measures of each operation, such as its latency: the
// percentiles that its driver gives, with at least two.
type Distribution struct {
	Name, Unit  string
	Percentiles []float64 // rising; 0 is the least value, and 100 the largest
	Numbers     []int     // of their metrics among all of the workload
	Rows        []DistributionRow
}

// DistributionRow is an environment at a level.
type DistributionRow struct {
	Level       string
	Environment Environment
	Cells       []DistributionCell // a percentile each
}

// DistributionCell is the median of a percentile over the trials. Percentiles of trials
// are not those of all operations together.
type DistributionCell struct {
	Median float64 // NaN without a value
	Unit   string
	Cell   *Cell // nil for the baseline
}

// Heads are the names of the percentiles: p99, least, largest.
func (d Distribution) Heads() (heads []string) {
	for _, p := range d.Percentiles {
		switch p {
		case 0:
			heads = append(heads, "least")
		case 100:
			heads = append(heads, "largest")
		default:
			heads = append(heads, "p"+strconv.FormatFloat(p, 'f', -1, 64))
		}
	}
	return heads
}

// Distributions of a workload, in the order of its metrics.
func (v *Report) Distributions(w Workload) (all []Distribution) {
	for i, m := range w.AllMetrics() {
		if m.Percentile == nil {
			continue
		}
		name := m.Of
		if name == "" {
			name = stem(m.Name)
		}
		at := slices.IndexFunc(all, func(d Distribution) bool { return d.Name == name && d.Unit == m.Unit })
		if at < 0 {
			at = len(all)
			all = append(all, Distribution{Name: name, Unit: m.Unit})
		}
		d := &all[at]
		place, twice := slices.BinarySearch(d.Percentiles, *m.Percentile)
		if !twice {
			d.Percentiles, d.Numbers = slices.Insert(d.Percentiles, place, *m.Percentile), slices.Insert(d.Numbers, place, i)
		}
	}
	all = slices.DeleteFunc(all, func(d Distribution) bool { return len(d.Percentiles) < 2 })
	for i := range all {
		all[i].fill(v, w)
	}
	return slices.DeleteFunc(all, func(d Distribution) bool { return len(d.Rows) == 0 })
}

// stem is a metric's name without its percentile: latency of latency_p99.
func stem(metric string) string {
	at := strings.LastIndexByte(metric, '_')
	if at <= 0 {
		return metric
	}
	return metric[:at]
}

func (d *Distribution) fill(v *Report, w Workload) {
	metrics := w.AllMetrics()
	for _, l := range w.Levels {
		for _, e := range v.Environments {
			if e.Rung || !e.Ran() {
				continue
			}
			row, some := DistributionRow{Level: l.Name, Environment: e}, false
			for _, number := range d.Numbers {
				c := DistributionCell{Median: math.NaN(), Unit: d.Unit}
				if i := slices.IndexFunc(l.Metrics, func(m Metric) bool { return m.Name == metrics[number].Name }); i >= 0 {
					c = l.Metrics[i].distributionCell(e)
				}
				some = some || !math.IsNaN(c.Median)
				row.Cells = append(row.Cells, c)
			}
			if some {
				d.Rows = append(d.Rows, row)
			}
		}
	}
}

func (m Metric) distributionCell(e Environment) DistributionCell {
	if e.Baseline {
		return DistributionCell{Median: m.Reference, Unit: m.Unit}
	}
	for i := range m.Cells {
		if m.Cells[i].Environment.Name == e.Name {
			return DistributionCell{Median: m.Cells[i].Median, Unit: m.Unit, Cell: &m.Cells[i]}
		}
	}
	return DistributionCell{Median: math.NaN(), Unit: m.Unit}
}
