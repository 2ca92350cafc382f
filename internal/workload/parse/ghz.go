package parse

import (
	"cmp"
	"fmt"
	"time"
)

var ghz = Parser{
	Name: "ghz",
	About: "ghz's report with every call (-O json); latency_ is from the beginning of a call to its end, as ghz's workers made them; " +
		"failed calls count in all values",
	Versions: "0.120.0",
	Fields: []Field{
		{"calls", "op"}, {"errors", "op"}, {"error_ratio", "1"}, {"seconds", "s"}, {"calls_per_second", "op/s"},
		{"latency_mean", "us"}, {"latency_min", "us"}, {"latency_p50", "us"}, {"latency_p90", "us"}, {"latency_p95", "us"}, {"latency_p99", "us"}, {"latency_p999", "us"}, {"latency_max", "us"},
	},
	Parse: parseGhz,
	Split: splitJSON,
	Settings: func(stdout []byte) map[string]string {
		found := ghzOptions(stdout)
		if len(found) > 0 {
			found["rate"] = cmp.Or(found["rate"], "0") // it leaves out a rate of 0
		}
		return found
	},

	Distributions: []Field{{"latency", "us"}},
	Histograms: func(stdout []byte) (map[string]Histogram, error) {
		_, calls, err := ghzCalls(stdout)
		return map[string]Histogram{"latency": histogramOf(calls)}, err
	},
}

var ghzOptions = settingsAt(map[string]string{
	"call": "options.call", "concurrency": "options.concurrency", "connections": "options.connections", "rate": "options.rps",
})

type ghzReport struct {
	Count   *float64 `json:"count"`
	Details []struct {
		Timestamp time.Time `json:"timestamp"`
		Latency   int64     `json:"latency"` // ns
		Status    string    `json:"status"`
	} `json:"details"`
}

func parseGhz(stdout []byte) (map[string]float64, error) {
	fields, calls, err := ghzCalls(stdout)
	if err != nil {
		return nil, err
	}
	newDistribution(calls).summarize(fields, "latency_", "mean", "min", "p50", "p90", "p95", "p99", "p999", "max")
	return fields, nil
}

// ghzCalls returns the latencies of all calls, of which there is at least one, in us, and
// the values that are not measurements. ghz's own rate is of the whole run, with its connections.
func ghzCalls(stdout []byte) (fields map[string]float64, calls []float64, err error) {
	var r ghzReport
	if err := decode("ghz's report", stdout, &r); err != nil {
		return nil, nil, err
	}
	switch {
	case r.Count == nil:
		return nil, nil, fmt.Errorf("it is not a report of ghz with -O json: it has no count")
	case len(r.Details) == 0:
		return nil, nil, fmt.Errorf("ghz lists no call that ended")
	case float64(len(r.Details)) != *r.Count:
		return nil, nil, fmt.Errorf("ghz lists %d calls and counts %g", len(r.Details), *r.Count)
	}
	failed := 0.0
	var first, last time.Time
	for i, call := range r.Details {
		if call.Latency < 0 || call.Timestamp.IsZero() {
			return nil, nil, fmt.Errorf("call %d of ghz has no time", i+1)
		}
		if call.Status != "OK" {
			failed++
		}
		if first.IsZero() || call.Timestamp.Before(first) {
			first = call.Timestamp
		}
		if end := call.Timestamp.Add(time.Duration(call.Latency)); end.After(last) {
			last = end
		}
		calls = append(calls, float64(call.Latency)/1e3)
	}
	n := float64(len(calls))
	fields = map[string]float64{"calls": n, "errors": failed, "error_ratio": failed / n, "seconds": last.Sub(first).Seconds()}
	if fields["seconds"] > 0 {
		fields["calls_per_second"] = (n - failed) / fields["seconds"]
	}
	return fields, calls, nil
}
