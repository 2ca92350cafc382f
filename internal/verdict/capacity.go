package verdict

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/usage/cost"
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
	// Rate is the Hodges-Lehmann estimate over the blocks with its interval, as of all
	// values of successive blocks (stats.Value), which is unbounded below
	// stats.LeastBlocks; Least and Most are the range over the blocks.
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
				at := subject.Cell{Environment: name, Workload: w.Name, Level: l.Name}
				byBlock := map[int]float64{}
				for _, t := range trials {
					if t.Cell() != at || t.Traced {
						continue
					}
					if v, ok, _ := valueOf(t, workload.Capacity); ok && v > 0 {
						byBlock[t.Block] = math.Log(v)
					}
				}
				if len(byBlock) == 0 {
					continue
				}
				var logs []float64
				for _, block := range slices.Sorted(maps.Keys(byBlock)) {
					logs = append(logs, byBlock[block])
				}
				c := Capacity{Workload: w.Name, Level: l.Name, Objective: w.Find.Objective, Unit: "op/s", Environment: name, Label: facts[name].Label,
					Baseline: plan.Baseline, N: len(logs), Confidence: float64(plan.Design.Confidence)}
				c.Rate = exponential(ofValues(logs, 1-c.Confidence))
				c.Least, c.Most = math.Exp(slices.Min(logs)), math.Exp(slices.Max(logs))
				c.Instances = inverse(ratioOf(contrasts, at.Of(workload.Capacity)))
				all = append(all, c)
			}
		}
	}
	return all
}

func exponential(v stats.Interval) stats.Interval {
	return stats.Interval{Estimate: math.Exp(v.Estimate), Low: math.Exp(v.Low), High: math.Exp(v.High)}
}

// ratioOf is the ratio of the contrast of a metric, without an interval where there are too
// few blocks for one; NaN where there is no contrast.
func ratioOf(contrasts []Contrast, of subject.Figure) stats.Interval {
	i := slices.IndexFunc(contrasts, func(c Contrast) bool {
		return c.Figure() == of && c.BaseLevel == "" && c.N > 0
	})
	if i < 0 {
		return stats.Interval{Estimate: math.NaN(), Low: 0, High: math.Inf(1)}
	}
	if c := contrasts[i]; c.IntervalN > 0 {
		return c.Ratio()
	}
	return stats.Interval{Estimate: math.Exp(contrasts[i].Middle), Low: 0, High: math.Inf(1)}
}

// inverse is one over a positive value.
func inverse(v stats.Interval) stats.Interval {
	return stats.Interval{Estimate: 1 / v.Estimate, Low: 1 / v.High, High: 1 / v.Low}
}

// Bounded says whether the capacity has an interval.
func (c Capacity) Bounded() bool {
	return c.N >= stats.LeastBlocks && c.Rate.Bounded() && c.Rate.Low > 0
}

// ends are null where there is no bound.
func ends(v stats.Interval) span {
	if s := (span{finite(v.Estimate), finite(v.Low), finite(v.High)}); s.High != nil && v.Low > 0 {
		return s
	}
	return span{Estimate: finite(v.Estimate)}
}

// MarshalJSON writes an end without a bound as null, as a contrast does.
func (c Capacity) MarshalJSON() ([]byte, error) {
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

// AtLoad is what traffic takes in an environment, at a share of the baseline's capacity: the same
// rate for all.
type AtLoad struct {
	Workload, Level              string
	Environment, Label, Baseline string
	N                            int     // blocks
	Rate                         float64 // median over the blocks, in op/s
	// Cores is the median of the CPU time of an operation times the rate: what the rate
	// takes, also where the environment falls behind. Memory is the median of the memory
	// in use, in B. NaN where it is unknown.
	Cores, Memory float64
	// More is how many cores the environment needs for one of the baseline's: the ratio of
	// the CPU time of an operation, with the interval of its contrast; NaN for the
	// baseline, and without a contrast.
	More stats.Interval
}

// AtLoads returns what environments use at shares of the baseline's capacity. The
// contrasts are those of the run.
func AtLoads(plan *study.Plan, trials []rundir.Trial, contrasts []Contrast, facts map[string]rundir.EnvironmentFacts) (all []AtLoad) {
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			if l.Load == nil {
				continue
			}
			for _, name := range usable(plan, facts) {
				at := subject.Cell{Environment: name, Workload: w.Name, Level: l.Name}
				var rates, cores, memory []float64
				for _, t := range trials {
					if t.Cell() != at || t.Traced || t.Status != rundir.OK {
						continue
					}
					rates = append(rates, t.Rate)
					if v, ok, _ := valueOf(t, cost.CPU); ok {
						cores = append(cores, v*t.Rate/1000)
					}
					if t.Usage != nil && t.Usage.MemoryMean.Missing == "" {
						memory = append(memory, t.Usage.MemoryMean.Value)
					}
				}
				if len(rates) > 0 {
					all = append(all, AtLoad{Workload: w.Name, Level: l.Name, Environment: name, Label: facts[name].Label, Baseline: plan.Baseline, N: len(rates),
						Rate: stats.Median(rates), Cores: stats.Median(cores), Memory: stats.Median(memory), More: ratioOf(contrasts, at.Of(cost.CPU))})
				}
			}
		}
	}
	return all
}

// MarshalJSON writes what is unknown as null.
func (a AtLoad) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Workload    string   `json:"workload"`
		Level       string   `json:"level"`
		Environment string   `json:"environment"`
		Label       string   `json:"label,omitempty"`
		Baseline    string   `json:"baseline"`
		N           int      `json:"n"`
		Rate        float64  `json:"rate"`
		Cores       *float64 `json:"cores"`
		Memory      *float64 `json:"memory"`
		More        span     `json:"more_cores"`
	}{a.Workload, a.Level, a.Environment, a.Label, a.Baseline, a.N, a.Rate, finite(a.Cores), finite(a.Memory), ends(a.More)})
}
