package try

import (
	"slices"
	"strings"

	"tare/internal/workload"
)

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
