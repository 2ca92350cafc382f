package parse

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"

	"tare/internal/base/failing"
)

// k6Fields are the values of k6's metrics in its summary.
var k6Fields = []struct{ metric, value, field string }{
	{"http_reqs", "count", "requests"}, {"http_reqs", "rate", "requests_per_second"},
	// A rate's passes are what is true: here the failures.
	{"http_req_failed", "passes", "_failed"}, {"http_req_failed", "fails", "_answered"}, {"checks", "fails", "checks_failed"}, {"checks", "passes", "_checks_passed"},
	{"iterations", "count", "iterations"}, {"iterations", "rate", "iterations_per_second"}, {"dropped_iterations", "count", "dropped_iterations"},
	{"iteration_duration", "avg", "iteration_avg"}, {"vus_max", "max", "users_max"}, {"data_received", "count", "bytes"},
	{"http_req_duration", "avg", "latency_avg"}, {"http_req_duration", "min", "latency_min"}, {"http_req_duration", "med", "latency_p50"},
	{"http_req_duration", "p(90)", "latency_p90"}, {"http_req_duration", "p(95)", "latency_p95"}, {"http_req_duration", "p(99)", "latency_p99"},
	{"http_req_duration", "p(99.9)", "latency_p999"}, {"http_req_duration", "max", "latency_max"},
	{"http_req_waiting", "avg", "waiting_avg"}, {"http_req_connecting", "avg", "connect_avg"},
}

// k6Text is a line of the summary that k6 prints, whose marks and dots differ by version.
var k6Text = regexp.MustCompile(`(?m)^[ \t✓✗]*(http_reqs|iterations|vus_max|data_sent)\.{4,}: `)

// k6Document is a line of --out json, or the summary, which has metrics.
type k6Document struct {
	Type   string `json:"type"`
	Metric string `json:"metric"`
	Data   struct {
		Value float64 `json:"value"`
	} `json:"data"`
	Metrics map[string]map[string]any `json:"metrics"`
}

// k6Run is one run of k6, which ends with the summary.
type k6Run struct {
	text      []byte
	latencies []float64 // ms
	summary   map[string]map[string]any
}

func k6Runs(file []byte) (runs []k6Run) {
	decoder := json.NewDecoder(bytes.NewReader(file))
	begin := int64(0)
	for run := (k6Run{}); ; {
		var d k6Document
		err := decoder.Decode(&d)
		switch {
		case errors.Is(err, io.EOF) && int64(len(bytes.TrimSpace(file))) <= begin && len(runs) > 0:
			return runs
		case errors.Is(err, io.EOF):
			fail("k6's summary is missing: write it with --summary-export=FILE, and print that file after the requests; %s", ending(lines(file)))
		case err != nil && k6Text.Match(file):
			fail("this is k6's summary for people, whose values are rounded: have k6 write --summary-export=FILE too, and read that")
		case err != nil:
			fail("k6's JSON: %w; %s", err, ending(lines(file)))
		case d.Metrics != nil:
			run.text, run.summary = file[begin:decoder.InputOffset()], d.Metrics
			runs, run, begin = append(runs, run), k6Run{}, decoder.InputOffset()
		case d.Type == "Point" && d.Metric == "http_req_duration":
			run.latencies = append(run.latencies, d.Data.Value)
		case d.Type != "Point" && d.Type != "Metric":
			fail("the JSON that ends at byte %d is neither a point nor a summary of k6: a handleSummary of one's own writes what it likes; have it write JSON.stringify(data), or use --summary-export=FILE", decoder.InputOffset())
		}
	}
}

func splitK6(file []byte) (texts [][]byte, err error) {
	err = failing.Caught(func() {
		for _, r := range k6Runs(file) {
			texts = append(texts, r.text)
		}
	})
	return texts, err
}

func readK6(r *reading) {
	runs := k6Runs(r.stdout)
	if len(runs) > 1 {
		fail("it has %d summaries, and each is another run", len(runs))
	}
	run := runs[0]
	r.fields["dropped_iterations"] = 0 // what k6 never dropped has no metric
	for _, metric := range run.summary {
		// handleSummary has the values one level below, and of a rate another name.
		if values, nested := metric["values"].(map[string]any); nested {
			maps.Copy(metric, values)
			if metric["type"] == "rate" {
				metric["value"] = metric["rate"]
			}
		}
	}
	for _, f := range k6Fields {
		if value, there := run.summary[f.metric][f.value]; there {
			r.fields[f.field] = numberAt(f.value+" of "+f.metric, value)
		}
	}
	r.k6Failures(run.summary)
	switch requests, there := r.fields["requests"]; {
	case r.fields["iterations"] == 0:
		fail("k6's summary has no iteration that ended")
	case len(run.latencies) > 0 && there && float64(len(run.latencies)) != requests:
		fail("k6 lists the times of %d requests, and its summary has %v", len(run.latencies), requests)
	}
	// k6 interpolates percentiles; those of the requests are of the same kind as the
	// distribution's.
	if len(run.latencies) > 0 {
		r.count("latency", run.latencies)
		r.summarize(run.latencies, "latency_", "p50 p90 p95 p99 p999")
	}
}

// k6Failures counts the requests that failed or, if their share is larger, the checks of the
// answers.
func (r *reading) k6Failures(summary map[string]map[string]any) {
	f := r.fields
	if _, told := summary["http_req_failed"]; told && f["_failed"]+f["_answered"] > 0 {
		r.failed(f["_failed"], f["_failed"]+f["_answered"])
	}
	if checks := f["checks_failed"] + f["_checks_passed"]; checks > 0 && f["checks_failed"]/checks > f[ErrorRatio] {
		r.failed(f["checks_failed"], checks)
	}
}
