package rundir

import (
	"fmt"
	"maps"

	"tare/internal/stats"
	"tare/internal/workload"
)

// OfRounds returns the metrics of a trial with several rounds: of each the median
// of the rounds that have it. The metric that counts operations is the sum, as
// the use of resources is: a cost is one over the other.
func OfRounds(rounds []Copy, operations string) Copy {
	values, reasons := map[string][]float64{}, map[string]string{}
	for n, round := range rounds {
		for name, v := range round.Metrics {
			values[name] = append(values[name], v)
		}
		for name, why := range round.Missing {
			if reasons[name] == "" {
				reasons[name] = fmt.Sprintf("round %d: %s", n+1, why)
			}
		}
	}
	all := Copy{Metrics: map[string]float64{}, Missing: reasons}
	for name, v := range values {
		if name == workload.ErrorRatio {
			for _, share := range v {
				all.Metrics[name] += share
			}
			all.Metrics[name] /= float64(len(v)) // one round of many may have all failures
		} else if name != operations {
			all.Metrics[name] = stats.Median(v)
		} else if len(v) == len(rounds) {
			for _, n := range v {
				all.Metrics[name] += n
			}
		}
	}
	maps.DeleteFunc(reasons, func(name, _ string) bool { _, known := all.Metrics[name]; return known })
	return all
}
