package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
)

var (
	memtierPrefixes = map[string]string{"Totals": "", "Sets": "sets_", "Gets": "gets_"}
	memtierValues   = map[string]string{
		"Count": "operations", "Ops/sec": "operations_per_second", "Connection Errors": "connection_errors",
		"Average Latency": "latency_avg", "Min Latency": "latency_min", "Max Latency": "latency_max",
	}
	// memtierReads are of reads alone; of other commands it writes 0.
	memtierReads       = map[string]string{"Hits/sec": "hits_per_second", "Misses/sec": "misses_per_second"}
	memtierTable       = expression(`^Type +Ops/sec +Hits/sec `)
	memtierPercentiles = map[string]string{
		"p50.00": "latency_p50", "p90.00": "latency_p90", "p95.00": "latency_p95", "p99.00": "latency_p99", "p99.90": "latency_p999",
	}
)

type memtierReport struct {
	Configuration struct {
		Runs int `json:"run_count"`
	} `json:"configuration"`
	// Beside Totals there are lists, of which older versions make histograms.
	Stats map[string]any `json:"ALL STATS"`
}

func (m memtierReport) of(name string) map[string]any {
	stats, _ := m.Stats[name].(map[string]any)
	return stats
}

func readMemtier(r *reading) {
	var report memtierReport
	decode("memtier's report", r.stdout, r.lines, &report)
	runtime := report.of("Runtime")
	ms, timed := runtime["Total duration"].(float64)
	switch {
	case report.Configuration.Runs > 1:
		fail("output contains %d runs (-x); use -x 1", report.Configuration.Runs)
	case report.of("Totals") == nil || runtime == nil:
		fail("it is not what memtier_benchmark writes with --json-out-file: it has no ALL STATS with Totals and Runtime")
	case runtime["Interrupted"] != nil && runtime["Interrupted"] != "false":
		fail("memtier_benchmark was interrupted")
	case !timed || runtime["Time unit"] != "MILLISECONDS":
		fail("the duration is not a number of milliseconds but %s", jsonText(runtime["Total duration"]))
	}
	r.fields["seconds"] = ms / 1e3
	first, _ := firstOf(json.NewDecoder(bytes.NewReader(r.stdout))).(map[string]any)["ALL STATS"].(map[string]any)
	for name, prefix := range memtierPrefixes {
		stats := report.of(name)
		if !reflect.DeepEqual(first[name], report.Stats[name]) {
			fail("there are several %s: with --command-stats-breakdown=line commands of the same name have the same key; run it without", name)
		}
		if count, _ := stats["Count"].(float64); count == 0 {
			if prefix == "" {
				fail("memtier_benchmark counted no operation")
			}
			continue // it prints latencies of 0 for what it did not do
		}
		take := func(names map[string]string, from map[string]any) {
			for value, field := range names {
				if from[value] != nil {
					r.fields[prefix+field] = numberAt(name+" "+value, from[value])
				}
			}
		}
		take(memtierValues, stats)
		if name == "Gets" {
			take(memtierReads, stats)
		}
		percentiles, _ := stats["Percentile Latencies"].(map[string]any)
		take(memtierPercentiles, percentiles)
	}
	r.memtierAverage(report.of("Totals"))
	if errors, told := r.fields["connection_errors"]; told {
		r.failed(errors, r.fields["operations"]+errors)
	}
}

// memtierAverage computes the average of all commands. Versions after 2.3.1 write it in whole
// milliseconds, often 0, beside the sum of all latencies, which is in whole ones too: of short
// runs it says too little.
func (r *reading) memtierAverage(totals map[string]any) {
	sum, told := totals["Accumulated Latency"].(float64)
	switch {
	case !told || r.fields["latency_avg"] != math.Trunc(r.fields["latency_avg"]):
	case sum < 1000:
		r.without("latency_avg")
	default:
		r.fields["latency_avg"] = sum / r.fields["operations"]
	}
}

func splitMemtier(file []byte) ([][]byte, error) {
	for at, line := range eachLine(file) {
		if line == "ALL STATS" || memtierTable.match(line) {
			return nil, atLine(at.number, fmt.Errorf("%q is of memtier_benchmark's table: tare reads the file of --json-out-file=FILE, which has all digits", clip(line)))
		}
	}
	return splitJSON(file)
}
