package verdict

import (
	"encoding/json"
	"math"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
)

// MovedValue is the value of a metric in one environment, the baseline too, in two runs.
// Nothing cancels out: what changed between the runs besides what was upgraded is in it,
// such as the machine's load, so that there is no verdict.
type MovedValue struct {
	Workload    string         `json:"workload"`
	Level       string         `json:"level,omitempty"`
	Metric      string         `json:"metric"`
	Unit        string         `json:"unit"`
	Better      string         `json:"better"`
	Primary     bool           `json:"primary"`
	Environment string         `json:"environment"`
	N           [2]int         `json:"n"` // blocks
	Values      [2]float64     `json:"values"`
	Change      stats.Interval `json:"-"` // log ratio, the second over the first
}

// Measured is what values are made of: the trials of a run and its manifest.
type Measured struct {
	Trials   []rundir.Trial
	Manifest rundir.Manifest
}

// CompareValues compares the values of each environment that both runs have. The interval
// of a change is made of those of the two values, which allow for blocks that resemble
// each other (stats.Value), by the method of variance estimates recovery (Zou and Donner,
// Construction of confidence intervals about effect measures, 2008).
func CompareValues(plan *study.Plan, first, second Measured) (moved []MovedValue) {
	for _, e := range plan.Environments {
		before := map[subject.Figure]Contrast{}
		for _, c := range Values(e.Name, plan, first.Trials, first.Manifest) {
			before[c.Figure()] = c
		}
		for _, c := range Values(e.Name, plan, second.Trials, second.Manifest) {
			b, has := before[c.Figure()]
			if !has || b.N == 0 || c.N == 0 {
				continue
			}
			moved = append(moved, MovedValue{
				Workload: c.Workload, Level: c.Level, Metric: c.Metric, Unit: c.Unit, Better: c.Better, Primary: c.Primary, Environment: e.Name,
				N: [2]int{b.N, c.N}, Values: [2]float64{math.Exp(point(b)), math.Exp(point(c))}, Change: difference(b, c),
			})
		}
	}
	return moved
}

// point is the estimate, or the median of too few blocks for one.
func point(c Contrast) float64 {
	if c.Bounded() {
		return c.Estimate
	}
	return c.Middle
}

// difference is that of two independent estimates with their intervals.
func difference(before, after Contrast) stats.Interval {
	v := stats.Interval{Estimate: point(after) - point(before), Low: math.Inf(-1), High: math.Inf(1)}
	if before.Bounded() && after.Bounded() {
		v.Low = v.Estimate - math.Hypot(after.Estimate-after.Low, before.High-before.Estimate)
		v.High = v.Estimate + math.Hypot(after.High-after.Estimate, before.Estimate-before.Low)
	}
	return v
}

// MarshalJSON adds the change as ratios; an end without a bound is null.
func (c MovedValue) MarshalJSON() ([]byte, error) {
	type plain MovedValue
	ratios := span{finite(math.Exp(c.Change.Estimate)), finite(math.Exp(c.Change.Low)), finite(math.Exp(c.Change.High))}
	if !c.Change.Bounded() {
		ratios.Low, ratios.High = nil, nil
	}
	return json.Marshal(struct {
		plain
		Ratios span `json:"ratios"`
	}{plain(c), ratios})
}
