package parse

import (
	"fmt"
	"regexp"
	"strconv"
)

var h2load = Parser{
	Name:     "h2load",
	About:    "h2load, limited by requests or by time; before its report the requests of --log-file, counted, if there are any; a request that failed is an error",
	Versions: "nghttp2 1.52.0",
	Fields: []Field{
		{"requests", "op"}, {"seconds", "s"}, {"bytes", "B"},
		{"requests_per_second", "op/s"}, {"bytes_per_second", "B/s"},
		{"latency_min", "us"}, {"latency_max", "us"}, {"latency_avg", "us"}, {"latency_stdev", "us"},
		{"connect_avg", "us"}, {"first_byte_avg", "us"},
	},
	Parse: parseH2load,
	Split: splitCounted(h2loadStart),

	Distributions: []Field{{"latency", "us"}},
	Histograms:    countedHistogram(h2loadStart, 1),
	Settings:      h2loadSettings,
}

var h2loadThread = regexp.MustCompile(`^spawning thread #\d+: (\d+) total client\(s\)\.`)

// h2loadSettings adds up the clients of the threads.
func h2loadSettings(stdout []byte) map[string]string {
	threads, clients := 0, 0
	for _, line := range lines(stdout) {
		if m := h2loadThread.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			threads, clients = threads+1, clients+n
		}
	}
	if threads == 0 {
		return nil
	}
	return map[string]string{"threads": strconv.Itoa(threads), "clients": strconv.Itoa(clients)}
}

const h2loadTime = `>\d+us|\d+\.\d+m?s)`

// h2loadTimes is a line with the least, the largest and the mean time, and the deviation.
func h2loadTimes(title, least, largest, mean, deviation string) string {
	line := `^time ` + title + `: `
	for _, name := range []string{least, largest, mean, deviation} {
		line += ` +(?P<` + name + h2loadTime
	}
	return line + ` +[0-9.]+%$`
}

var (
	h2loadStart  = regexp.MustCompile(`^starting benchmark\.\.\.$`)
	h2loadReport = report{
		tool:  "h2load 1.52",
		first: h2loadStart,
		lines: patterns(
			`^finished in (?P<seconds`+h2loadTime+`, (?P<requests_per_second>\d+\.\d+) req/s, (?P<bytes_per_second>[0-9.]+[KMG]?)B/s$`,
			`^requests: \d+ total, \d+ started, (?P<_done>\d+) done, (?P<requests>\d+) succeeded, (?P<_failed>\d+) failed, `+
				`(?P<_errored>\d+) errored, (?P<_timeout>\d+) timeout$`,
			`^traffic: \S+B \((?P<bytes>\d+)\) total, \S+B \(\d+\) headers \(space savings \S+%\), \S+B \(\d+\) data$`,
			h2loadTimes("for request", "latency_min", "latency_max", "latency_avg", "latency_stdev"),
			h2loadTimes("for connect", "_connect_min", "_connect_max", "connect_avg", "_connect_stdev"),
			h2loadTimes("to 1st byte", "_first_byte_min", "_first_byte_max", "first_byte_avg", "_first_byte_stdev"),
			`^req/s +:(?: +[0-9.]+){3} +(?P<_rate>[0-9.]+) +[0-9.]+%$`),
		other: anyOf(`spawning thread #\d+: .*`, `Warm-up (started|phase is over) for thread #\d+\.`,
			`Main benchmark duration is (started|over) for thread #\d+\..*`, `Stopped all clients for thread #\d+`,
			`Application protocol: .*`, `TLS Protocol: .*`, `Cipher: .*`, `Server Temp Key: .*`, `progress: \d+% (done|of clients started)`,
			`status codes: \d+ 2xx, \d+ 3xx, \d+ 4xx, \d+ 5xx`, ` +min +max +mean +sd +\+/- sd`),
		wanted: []string{"seconds", "requests", "bytes", "latency_avg", "connect_avg", "first_byte_avg", "_rate"},
		units:  map[string]float64{"": 1, "us": 1, "ms": 1e3, "s": 1e6, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30},
	}
)

func parseH2load(stdout []byte) (map[string]float64, error) {
	logged, report := cutCounted(stdout, h2loadStart)
	fields, err := h2loadReport.read(report)
	if err != nil {
		return nil, err
	}
	switch {
	case fields["_done"] != fields["requests"] || fields["_failed"]+fields["_errored"]+fields["_timeout"] > 0:
		return nil, fmt.Errorf("not every request was answered well: of %v done, %v succeeded, %v failed, %v errored, %v timeout",
			fields["_done"], fields["requests"], fields["_failed"], fields["_errored"], fields["_timeout"])
	case fields["requests"] == 0:
		return nil, fmt.Errorf("no request was answered: %s", ending(report))
	}
	if fields["seconds"] /= 1e6; len(logged) == 0 {
		return fields, nil
	}
	log, err := checkCounted(logged, fields["requests"])
	if err != nil {
		return nil, err
	}
	fields["seconds"] = log["us"] / 1e6
	fields["requests_per_second"], fields["bytes_per_second"] = fields["requests"]/fields["seconds"], fields["bytes"]/fields["seconds"]
	return fields, nil
}
