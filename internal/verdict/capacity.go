package verdict

import (
	"encoding/json"
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/workload"
)

// Capacity is the highest rate that holds an objective in one environment, and how many
// instances serve the traffic of one of the baseline.
type Capacity struct {
	Workload, Level, Objective   string
	Unit                         string
	Environment, Label, Baseline string
	N                            int // blocks
	Confidence                   float64
	// Rate is the Hodges-Lehmann estimate over the blocks with its interval, which is
	// unbounded below stats.LeastBlocks; Least and Most are the range over the blocks.
	Rate        stats.Interval
	Least, Most float64
	// Instances is how many serve the same traffic as one of the baseline: the inverse of
	// the contrast's ratio, with its interval; NaN for the baseline, and without a
	// contrast.
	Instances stats.Interval
}

// Capacities returns the capacities that a run searched. The contrasts are those of the
// run.
func Capacities(plan *study.Plan, trials []rundir.Trial, contrasts []Contrast, facts map[string]rundir.EnvironmentFacts) (all []Capacity) {
	for _, w := range plan.Workloads {
		if w.Find == nil {
			continue
		}
		for _, l := range w.Levels {
			for _, name := range usable(plan, facts) {
				var logs []float64
				for _, t := range trials {
					if t.Workload != w.Name || t.Level != l.Name || t.Environment != name || t.Traced {
						continue
					}
					if v, ok, _ := valueOf(t, workload.Capacity); ok && v > 0 {
						logs = append(logs, math.Log(v))
					}
				}
				if len(logs) == 0 {
					continue
				}
				c := Capacity{Workload: w.Name, Level: l.Name, Objective: w.Find.Objective, Unit: "op/s", Environment: name, Label: facts[name].Label,
					Baseline: plan.Baseline, N: len(logs), Confidence: float64(plan.Design.Confidence)}
				c.Rate = exponential(hodgesLehmann(logs, 1-c.Confidence))
				c.Least, c.Most = math.Exp(slices.Min(logs)), math.Exp(slices.Max(logs))
				c.Instances = instancesOf(contrasts, w.Name, l.Name, name)
				all = append(all, c)
			}
		}
	}
	return all
}

func exponential(v stats.Interval) stats.Interval {
	return stats.Interval{Estimate: math.Exp(v.Estimate), Low: math.Exp(v.Low), High: math.Exp(v.High)}
}

// instancesOf inverts the ratio of the contrast of a capacity.
func instancesOf(contrasts []Contrast, workloadName, level, environment string) stats.Interval {
	i := slices.IndexFunc(contrasts, func(c Contrast) bool {
		return c.Metric == workload.Capacity && c.Workload == workloadName && c.Level == level && c.Environment == environment && c.BaseLevel == "" && c.N > 0
	})
	if i < 0 {
		return stats.Interval{Estimate: math.NaN(), Low: 0, High: math.Inf(1)}
	}
	c := contrasts[i]
	d := stats.Interval{Estimate: -c.Middle, Low: math.Inf(-1), High: math.Inf(1)}
	if c.IntervalN > 0 {
		d = stats.Interval{Estimate: -c.Estimate, Low: -c.High, High: -c.Low}
	}
	return exponential(d)
}

// Bounded says whether the capacity has an interval.
func (c Capacity) Bounded() bool {
	return c.N >= stats.LeastBlocks && c.Rate.Bounded() && c.Rate.Low > 0
}

// MarshalJSON writes an end without a bound as null, as a contrast does.
func (c Capacity) MarshalJSON() ([]byte, error) {
	ends := func(v stats.Interval) span {
		s := span{finite(v.Estimate), finite(v.Low), finite(v.High)}
		if s.High == nil || v.Low == 0 {
			s.Low, s.High = nil, nil
		}
		return s
	}
	return json.Marshal(struct {
		Workload    string  `json:"workload"`
		Level       string  `json:"level,omitempty"`
		Objective   string  `json:"objective"`
		Unit        string  `json:"unit"`
		Environment string  `json:"environment"`
		Label       string  `json:"label,omitempty"`
		Baseline    string  `json:"baseline"`
		N           int     `json:"n"`
		Confidence  float64 `json:"confidence"`
		Rate        span    `json:"rate"`
		Least       float64 `json:"least"`
		Most        float64 `json:"most"`
		Instances   span    `json:"instances"`
	}{c.Workload, c.Level, c.Objective, c.Unit, c.Environment, c.Label, c.Baseline, c.N, c.Confidence, ends(c.Rate), c.Least, c.Most, ends(c.Instances)})
}
