package parse

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strings"
)

var jmeter = Parser{
	Name:     "jmeter",
	About:    "JMeter's result file (JTL) as CSV with its head; elapsed is from before sending to the last byte; failed samples are included",
	Versions: "5.6.3",
	Fields: []Field{
		{"requests", "op"}, {"errors", "op"}, {"error_ratio", "1"}, {"throughput", "op/s"}, {"seconds", "s"}, {"users_max", "1"},
		{"elapsed_min", "ms"}, {"elapsed_mean", "ms"}, {"elapsed_p50", "ms"}, {"elapsed_p90", "ms"}, {"elapsed_p95", "ms"}, {"elapsed_p99", "ms"}, {"elapsed_max", "ms"},
		{"first_byte_mean", "ms"}, {"connect_mean", "ms"}, {"bytes", "B"},
	},
	Parse: func(stdout []byte) (map[string]float64, error) {
		samples, err := jmeterSamples(stdout)
		if err != nil {
			return nil, err
		}
		return jmeterFigures(samples), nil
	},
	Split:  splitPrefix("timeStamp,"),
	Series: jmeterSeries,

	Distributions: []Field{{"elapsed", "ms"}},
	Histograms: func(stdout []byte) (map[string]Histogram, error) {
		samples, err := jmeterSamples(stdout)
		h := Histogram{}
		for _, s := range samples {
			h = append(h, Bin{s.elapsed, s.elapsed, 1})
		}
		return map[string]Histogram{"elapsed": h}, err
	},
}

// jmeterSample is one request; times are in milliseconds since the epoch.
type jmeterSample struct {
	at, elapsed, bytes, users, firstByte, connect float64
	failed                                        bool
}

// jmeterColumns are required, in any order; others may be there.
var jmeterColumns = []string{"timeStamp", "elapsed", "bytes", "allThreads", "Latency", "Connect", "success", "responseMessage"}

func jmeterSamples(stdout []byte) ([]jmeterSample, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(stdout)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("JMeter's result file: %w", err)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("JMeter's result file has no sample: %s", ending(lines(stdout)))
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, name := range jmeterColumns {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("no column %s in the head of JMeter's result file, %q", name, clip(strings.Join(rows[0], ",")))
		}
	}
	var samples []jmeterSample
	for _, row := range rows[1:] {
		line := strings.Join(row, ",")
		var s jmeterSample
		for i, to := range []*float64{&s.at, &s.elapsed, &s.bytes, &s.users, &s.firstByte, &s.connect} {
			if *to, err = number(row[column[jmeterColumns[i]]], line); err != nil {
				return nil, err
			}
			if *to < 0 {
				return nil, fmt.Errorf("%s is negative in the line %q", jmeterColumns[i], clip(line))
			}
		}
		switch success := row[column["success"]]; success {
		case "true", "false":
			s.failed = success == "false"
		default:
			return nil, fmt.Errorf("success is neither true nor false in the line %q", clip(line))
		}
		if strings.HasPrefix(row[column["responseMessage"]], "Number of samples in transaction") {
			return nil, fmt.Errorf("a transaction controller's sample counts its requests again; turn it off in the plan: %q", clip(line))
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// jmeterSpan returns the time from the first request's start to the last
// response's end.
func jmeterSpan(samples []jmeterSample) (begin, end float64) {
	begin = math.Inf(1)
	for _, s := range samples {
		begin, end = min(begin, s.at), max(end, s.at+s.elapsed)
	}
	return begin, end
}

func jmeterFigures(samples []jmeterSample) map[string]float64 {
	begin, end := jmeterSpan(samples)
	n := float64(len(samples))
	fields := map[string]float64{"requests": n, "errors": 0, "seconds": (end - begin) / 1e3, "users_max": 0, "bytes": 0, "first_byte_mean": 0, "connect_mean": 0}
	var elapsed []float64
	for _, s := range samples {
		if s.failed {
			fields["errors"]++
		}
		elapsed = append(elapsed, s.elapsed)
		fields["bytes"] += s.bytes
		fields["first_byte_mean"] += s.firstByte / n
		fields["connect_mean"] += s.connect / n
		fields["users_max"] = max(fields["users_max"], s.users)
	}
	fields["error_ratio"] = fields["errors"] / n
	if end > begin {
		fields["throughput"] = n / fields["seconds"]
	}
	newDistribution(elapsed).summarize(fields, "elapsed_", "min", "mean", "p50", "p90", "p95", "p99", "max")
	return fields
}

const jmeterWindows = 120 // a series has at most as many points

// jmeterSeries returns windows of one second, by when requests were sent. A
// window without requests has no response time and no number of users.
func jmeterSeries(stdout []byte) (map[string][]Point, error) {
	samples, err := jmeterSamples(stdout)
	if err != nil {
		return nil, err
	}
	begin, end := jmeterSpan(samples)
	span := (end - begin) / 1e3
	width := max(1, math.Ceil(span/jmeterWindows))
	type window struct{ requests, elapsed, users float64 }
	windows := make([]window, max(1, int(math.Ceil(span/width))))
	for _, s := range samples {
		w := &windows[min(int((s.at-begin)/1e3/width), len(windows)-1)]
		w.requests++
		w.elapsed += s.elapsed
		w.users = max(w.users, s.users)
	}
	series := map[string][]Point{}
	for i, w := range windows {
		at := float64(i) * width
		if covered := min(width, span-at); covered > 0 {
			series["requests_per_second"] = append(series["requests_per_second"], Point{at, w.requests / covered})
		}
		if w.requests > 0 {
			series["response_time"] = append(series["response_time"], Point{at, w.elapsed / w.requests})
			series["users"] = append(series["users"], Point{at, w.users})
		}
	}
	return series, nil
}
