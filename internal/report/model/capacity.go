package model

import (
	"math"

	"tare/internal/base/lists"
	"tare/internal/stats"
	"tare/internal/verdict"
)

// CapacityRow is the capacity of one environment.
type CapacityRow struct {
	verdict.Capacity
	Shown string
}

// Capacities that the run searched.
func (v *Report) Capacities() []CapacityRow {
	all := verdict.Capacities(v.Plan, v.Trials, v.Contrasts, v.Manifest.Environments)
	return lists.Map(all, func(c verdict.Capacity) CapacityRow { return CapacityRow{c, v.ShownName(c.Environment)} })
}

// Value is the capacity.
func (r CapacityRow) Value() string { return Figure(r.Rate.Estimate, r.Unit) }

// Span is the interval, or the range if there are too few blocks for one.
func (r CapacityRow) Span() string {
	if r.Bounded() {
		return "[" + Figure(r.Rate.Low, r.Unit) + ", " + Figure(r.Rate.High, r.Unit) + "]"
	}
	return "range " + Figure(r.Least, r.Unit) + " to " + Figure(r.Most, r.Unit)
}

// Machines says how many instances serve the traffic of one of the baseline; "" for the
// baseline.
func (r CapacityRow) Machines() string {
	if math.IsNaN(r.Instances.Estimate) {
		return ""
	}
	text := Digits(r.Instances.Estimate)
	if bounded(r.Instances) {
		text += " [" + Digits(r.Instances.Low) + ", " + Digits(r.Instances.High) + "]"
	}
	return text
}

// More is the same as a change: how many more instances.
func (r CapacityRow) More() string { return changed(r.Instances) }

func bounded(v stats.Interval) bool { return v.Low > 0 && !math.IsInf(v.High, 1) }

// changed is a ratio as a change; "" where it is unknown.
func changed(v stats.Interval) string {
	if math.IsNaN(v.Estimate) {
		return ""
	}
	if !bounded(v) {
		return Change(math.Log(v.Estimate))
	}
	low, high := math.Log(v.Low), math.Log(v.High)
	return Changes(math.Log(v.Estimate), low, high)[0] + " " + Interval(low, high)
}

// AtLoadRow is what one environment uses at a share of the baseline's capacity.
type AtLoadRow struct {
	verdict.AtLoad
	Shown string
}

// AtLoads are the environments at shares of the baseline's capacity.
func (v *Report) AtLoads() []AtLoadRow {
	all := verdict.AtLoads(v.Plan, v.Trials, v.Contrasts, v.Manifest.Environments)
	return lists.Map(all, func(a verdict.AtLoad) AtLoadRow { return AtLoadRow{a, v.ShownName(a.Environment)} })
}

// RateText is the rate of requests.
func (r AtLoadRow) RateText() string { return Figure(r.Rate, "op/s") }

// CoresText is how many cores the environment uses.
func (r AtLoadRow) CoresText() string {
	if math.IsNaN(r.Cores) {
		return Missing
	}
	return Digits(r.Cores)
}

// MemoryText is how much memory it uses.
func (r AtLoadRow) MemoryText() string {
	if math.IsNaN(r.Memory) {
		return Missing
	}
	return Figure(r.Memory, "B")
}

// MoreText is how many more cores it uses than the baseline; "" for the baseline.
func (r AtLoadRow) MoreText() string { return changed(r.More) }
