package study

import (
	"encoding/json"
	"slices"

	"tare/internal/cost"
	"tare/internal/strictyaml"
	"tare/internal/workload"
)

// costs are what the study asks of what operations cost.
func (p *Plan) costs() []cost.Cost { return cost.Asked(p.Sampling.Syscalls, p.Price) }

func costMetrics(costs []cost.Cost) (metrics []workload.Metric) {
	for _, c := range costs {
		metrics = append(metrics, workload.Metric{Name: c.Name, Unit: c.Unit, Better: "lower", About: c.About})
	}
	return metrics
}

func resolvePrice(at strictyaml.Node, price *cost.Price) *cost.Price {
	if price != nil {
		validate(at, price)
	}
	return price
}

// Workload of a plan by its name; nil where there is none.
func (p *Plan) Workload(name string) *Workload {
	i := slices.IndexFunc(p.Workloads, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Workloads[i]
}

// UnmarshalJSON reads a plan. One that knows but the processor time of an
// operation gets all costs in its place, which follow from what its trials
// recorded.
func (p *Plan) UnmarshalJSON(data []byte) error {
	type plain Plan
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	for i := range p.Workloads {
		pack := &p.Workloads[i].Pack
		at := slices.IndexFunc(pack.Metrics, func(m workload.Metric) bool { return cost.Earlier(m.Name) })
		if at >= 0 {
			pack.Metrics = slices.Replace(pack.Metrics, at, at+1, costMetrics(p.costs())...)
		}
	}
	return nil
}
