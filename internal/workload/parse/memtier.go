package parse

import (
	"fmt"
)

var memtier = Parser{
	Name:     "memtier",
	About:    "the file of memtier_benchmark's --json-out-file, of one run; without a prefix all commands together, with sets_ and gets_ these; percentiles as --print-percentiles asks for",
	Versions: "2.3.1",
	Fields:   memtierFields(),
	Parse:    parseMemtier,
	Split:    splitJSON,
	Settings: settingsAt(map[string]string{
		"protocol": "configuration.protocol", "clients": "configuration.clients", "threads": "configuration.threads", "rate": "configuration.rate_limit",
		"ratio": "configuration.ratio", "pipeline": "configuration.pipeline", "data_size": "configuration.data_size",
	}),
}

var (
	memtierPrefixes = map[string]string{"Totals": "", "Sets": "sets_", "Gets": "gets_"}
	memtierValues   = []struct{ value, field, unit string }{
		{"Count", "operations", "op"}, {"Ops/sec", "operations_per_second", "op/s"},
		{"Connection Errors", "connection_errors", "op"},
		{"Average Latency", "latency_avg", "ms"}, {"Min Latency", "latency_min", "ms"}, {"Max Latency", "latency_max", "ms"},
	}
	// memtierReads are of reads alone; of other commands it writes 0.
	memtierReads = []struct{ value, field string }{{"Hits/sec", "hits_per_second"}, {"Misses/sec", "misses_per_second"}}

	memtierPercentiles = []struct{ value, field string }{
		{"p50.00", "latency_p50"}, {"p90.00", "latency_p90"}, {"p95.00", "latency_p95"}, {"p99.00", "latency_p99"}, {"p99.90", "latency_p999"},
	}
)

func memtierFields() []Field {
	fields := []Field{{"seconds", "s"}, {"gets_hits_per_second", "op/s"}, {"gets_misses_per_second", "op/s"}}
	for _, prefix := range []string{"", "sets_", "gets_"} {
		for _, v := range memtierValues {
			fields = append(fields, Field{prefix + v.field, v.unit})
		}
		for _, p := range memtierPercentiles {
			fields = append(fields, Field{prefix + p.field, "ms"})
		}
	}
	return fields
}

type memtierReport struct {
	Configuration struct {
		Runs int `json:"run_count"`
	} `json:"configuration"`
	Stats map[string]map[string]any `json:"ALL STATS"`
}

func parseMemtier(stdout []byte) (map[string]float64, error) {
	var r memtierReport
	if err := decode("memtier's report", stdout, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Configuration.Runs > 1:
		return nil, fmt.Errorf("output contains %d runs (-x); use -x 1", r.Configuration.Runs)
	case r.Stats["Totals"] == nil || r.Stats["Runtime"] == nil:
		return nil, fmt.Errorf("it is not what memtier_benchmark writes with --json-out-file: it has no ALL STATS with Totals and Runtime")
	case r.Stats["Runtime"]["Interrupted"] != "false":
		return nil, fmt.Errorf("memtier_benchmark was interrupted")
	}
	fields := map[string]float64{}
	ms, ok := r.Stats["Runtime"]["Total duration"].(float64)
	if !ok || r.Stats["Runtime"]["Time unit"] != "MILLISECONDS" {
		return nil, fmt.Errorf("the duration is not a number of milliseconds but %s", jsonText(r.Stats["Runtime"]["Total duration"]))
	}
	fields["seconds"] = ms / 1e3
	for name, prefix := range memtierPrefixes {
		stats := r.Stats[name]
		if count, _ := stats["Count"].(float64); count == 0 {
			if prefix == "" {
				return nil, fmt.Errorf("memtier_benchmark counted no operation")
			}
			continue // it prints latencies of 0 for what it did not do
		}
		for _, v := range memtierValues {
			if err := memtierTake(fields, prefix+v.field, name+" "+v.value, stats[v.value]); err != nil {
				return nil, err
			}
		}
		for _, v := range memtierReads {
			if name != "Gets" {
				continue
			}
			if err := memtierTake(fields, prefix+v.field, name+" "+v.value, stats[v.value]); err != nil {
				return nil, err
			}
		}
		percentiles, _ := stats["Percentile Latencies"].(map[string]any)
		for _, p := range memtierPercentiles {
			if err := memtierTake(fields, prefix+p.field, name+" "+p.value, percentiles[p.value]); err != nil {
				return nil, err
			}
		}
	}
	return fields, nil
}

func memtierTake(fields map[string]float64, field, what string, value any) error {
	if value == nil {
		return nil
	}
	v, ok := value.(float64)
	if !ok {
		return fmt.Errorf("%s is not a number but %s", what, jsonText(value))
	}
	fields[field] = v
	return nil
}
