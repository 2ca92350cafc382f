package model

import (
	"math"
	"slices"
	"strings"
)

// Distribution is what a workload measures of each operation, such as its latency: the
// percentiles that its driver gives, with at least two.
type Distribution struct {
	Name        string    `json:"name"`
	Unit        string    `json:"-"`
	Percentiles []float64 `json:"percentiles"` // rising; 0 is the least value, and 100 the largest
	Numbers     []int     `json:"metrics"`     // of their metrics among all of the workload
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
	return slices.DeleteFunc(all, func(d Distribution) bool {
		return len(d.Percentiles) < 2 || !slices.ContainsFunc(d.Numbers, func(n int) bool { return v.valued(w, w.AllMetrics()[n].Name) })
	})
}

// valued reports whether any environment has a value of a metric at any level.
func (v *Report) valued(w Workload, metric string) bool {
	return slices.ContainsFunc(w.Levels, func(l Level) bool {
		return slices.ContainsFunc(v.Environments, func(e Environment) bool {
			x, _ := l.Metric(metric).At(&e)
			return !e.Rung && e.Ran() && !math.IsNaN(x)
		})
	})
}

// stem is a metric's name without its percentile: latency of latency_p99.
func stem(metric string) string {
	at := strings.LastIndexByte(metric, '_')
	if at <= 0 {
		return metric
	}
	return metric[:at]
}
