package model

import (
	"math"

	"tare/internal/lists"
	"tare/internal/verdict"
)

// CapacityTitle is the title of the section on capacities.
const CapacityTitle = "Capacity"

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
	if r.Instances.Low > 0 && !math.IsInf(r.Instances.High, 1) {
		text += " [" + Digits(r.Instances.Low) + ", " + Digits(r.Instances.High) + "]"
	}
	return text
}

// More is the same as a change: how many more instances.
func (r CapacityRow) More() string {
	if math.IsNaN(r.Instances.Estimate) {
		return ""
	}
	text := Change(math.Log(r.Instances.Estimate))
	if r.Instances.Low > 0 && !math.IsInf(r.Instances.High, 1) {
		text += " " + Interval(math.Log(r.Instances.Low), math.Log(r.Instances.High))
	}
	return text
}
