package try

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/verdict"
	"tare/internal/workload"
)

// Undecided says how many of the figures that decide when a run stops are without a
// verdict; "" if none is.
func (o Options) Undecided(contrasts []verdict.Contrast) string {
	primary, open := 0, 0
	for _, c := range contrasts {
		if c.Primary {
			primary++
			if c.Verdict == verdict.None || c.Verdict == verdict.Inconclusive {
				open++
			}
		}
	}
	if open == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d comparisons of throughput or time have no verdict after the budget of %v: a longer --budget has more blocks, and a quiet machine narrower intervals", open, primary, o.Budget)
}

// Figure titles a metric of the study for the table at the end; "" leaves it out.
func Figure(w string, m workload.Metric) string {
	switch {
	case w == startName && m.Primary && m.Name == workload.StartSeconds:
		return "instance start"
	case w == startName && m.Primary:
		return "first answer"
	case w != loadName:
		return ""
	case m.Name == "cpu_per_kop":
		return "CPU per 1000"
	case m.Name == workload.CPUSeconds:
		return "CPU time"
	case m.FieldName() == workload.MemoryMean:
		return "memory"
	case m.Name == workload.WallSeconds:
		return "wall time"
	case m.Name == "requests_per_second":
		return "requests"
	case m.Name == "tps":
		return "transactions"
	case m.Primary:
		return strings.TrimSuffix(strings.ToUpper(m.Name), "_RPS")
	case slices.Contains([]string{"latency_p99", "latency_p95"}, m.Name):
		return strings.Replace(m.Name, "latency_p", "latency p", 1)
	}
	if operation, tail := strings.CutSuffix(m.Name, "_latency_p99"); tail { // of Redis
		return strings.ToUpper(operation) + " p99"
	}
	return ""
}
