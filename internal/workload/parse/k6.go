package parse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

var k6 = Parser{
	Name: "k6",
	About: "k6's requests as JSON (--out json), if there are any, and then its summary (--summary-export); latency_ is the time of requests, without connecting; " +
		"failed requests are included",
	Versions: "1.8.1",
	Fields: []Field{
		{"requests", "op"}, {"requests_per_second", "op/s"}, {"errors", "op"}, {"error_ratio", "1"}, {"checks_failed", "op"},
		{"iterations", "op"}, {"iterations_per_second", "op/s"}, {"dropped_iterations", "op"}, {"iteration_avg", "ms"}, {"users_max", "1"}, {"bytes", "B"},
		{"latency_avg", "ms"}, {"latency_min", "ms"}, {"latency_p50", "ms"}, {"latency_p90", "ms"}, {"latency_p95", "ms"}, {"latency_p99", "ms"}, {"latency_p999", "ms"}, {"latency_max", "ms"},
		{"waiting_avg", "ms"}, {"connect_avg", "ms"},
	},
	Parse: func(stdout []byte) (map[string]float64, error) {
		runs, err := k6Runs(stdout)
		switch {
		case err != nil:
			return nil, err
		case len(runs) > 1:
			return nil, fmt.Errorf("it has %d summaries, and each is another run", len(runs))
		}
		return runs[0].figures()
	},
	Split: func(file []byte) ([][]byte, error) {
		runs, err := k6Runs(file)
		var texts [][]byte
		for _, r := range runs {
			texts = append(texts, r.text)
		}
		return texts, err
	},

	Distributions: []Field{{"latency", "ms"}},
	Histograms: func(stdout []byte) (map[string]Histogram, error) {
		runs, err := k6Runs(stdout)
		if err != nil || len(runs[0].latencies) == 0 {
			return nil, err
		}
		return map[string]Histogram{"latency": histogramOf(runs[0].latencies)}, nil
	},
}

// k6Fields are the values of k6's metrics in its summary.
var k6Fields = []struct{ metric, value, field string }{
	{"http_reqs", "count", "requests"}, {"http_reqs", "rate", "requests_per_second"},
	// A rate's passes are what is true: here the failures.
	{"http_req_failed", "passes", "errors"}, {"http_req_failed", "value", "error_ratio"}, {"checks", "fails", "checks_failed"},
	{"iterations", "count", "iterations"}, {"iterations", "rate", "iterations_per_second"}, {"dropped_iterations", "count", "dropped_iterations"},
	{"iteration_duration", "avg", "iteration_avg"}, {"vus_max", "max", "users_max"}, {"data_received", "count", "bytes"},
	{"http_req_duration", "avg", "latency_avg"}, {"http_req_duration", "min", "latency_min"}, {"http_req_duration", "med", "latency_p50"},
	{"http_req_duration", "p(90)", "latency_p90"}, {"http_req_duration", "p(95)", "latency_p95"}, {"http_req_duration", "p(99)", "latency_p99"},
	{"http_req_duration", "p(99.9)", "latency_p999"}, {"http_req_duration", "max", "latency_max"},
	{"http_req_waiting", "avg", "waiting_avg"}, {"http_req_connecting", "avg", "connect_avg"},
}

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

func k6Runs(file []byte) (runs []k6Run, err error) {
	decoder := json.NewDecoder(bytes.NewReader(file))
	begin := int64(0)
	for run := (k6Run{}); ; {
		var d k6Document
		err := decoder.Decode(&d)
		switch {
		case errors.Is(err, io.EOF) && int64(len(bytes.TrimSpace(file))) <= begin && len(runs) > 0:
			return runs, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("k6's summary is missing: write it with --summary-export=FILE, and print that file after the requests; %s", ending(lines(file)))
		case err != nil:
			return nil, fmt.Errorf("k6's JSON: %w; %s", err, ending(lines(file)))
		case d.Metrics != nil:
			run.text, run.summary = file[begin:decoder.InputOffset()], d.Metrics
			runs, run, begin = append(runs, run), k6Run{}, decoder.InputOffset()
		case d.Type == "Point" && d.Metric == "http_req_duration":
			run.latencies = append(run.latencies, d.Data.Value)
		case d.Type != "Point" && d.Type != "Metric":
			return nil, fmt.Errorf("byte %d is the end of neither a point nor a summary of k6", decoder.InputOffset())
		}
	}
}

func (r k6Run) figures() (map[string]float64, error) {
	// What k6 never dropped has no metric.
	fields := map[string]float64{"dropped_iterations": 0}
	for _, f := range k6Fields {
		value, there := r.summary[f.metric][f.value]
		if !there {
			continue
		}
		v, ok := value.(float64)
		if !ok {
			return nil, fmt.Errorf("%s of %s is not a number but %s", f.value, f.metric, jsonText(value))
		}
		fields[f.field] = v
	}
	switch requests, there := fields["requests"]; {
	case fields["iterations"] == 0:
		return nil, fmt.Errorf("k6's summary has no iteration that ended")
	case len(r.latencies) > 0 && there && float64(len(r.latencies)) != requests:
		return nil, fmt.Errorf("k6 lists the times of %d requests, and its summary has %v", len(r.latencies), requests)
	}
	// k6 interpolates percentiles; those of the requests are of the same kind as the
	// distribution's.
	if d := newDistribution(r.latencies); len(d) > 0 {
		d.summarize(fields, "latency_", "p50", "p90", "p95", "p99", "p999")
	}
	return fields, nil
}
