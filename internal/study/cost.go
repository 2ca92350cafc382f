package study

import (
	"tare/internal/base/strictyaml"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// costs are the costs of operations that the study asks for.
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
