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
	Split: func(file []byte) ([][]byte, error) {
		logged := false
		return splitAt(file, func(line string) bool {
			start := h2loadStart.MatchString(line)
			begins := countedStart.MatchString(line) || start && !logged
			logged = !start && (logged || begins)
			return begins
		})
	},

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

const h2loadTime = `(\d+us|\d+\.\d+m?s)`

var (
	h2loadStart    = regexp.MustCompile(`^starting benchmark\.\.\.$`)
	h2loadScale    = regexp.MustCompile(`^([0-9.]+)([A-Za-z]*)$`)
	h2loadFinished = regexp.MustCompile(`^finished in ` + h2loadTime + `, (\d+\.\d+) req/s, ([0-9.]+[KMG]?)B/s$`)
	h2loadRequests = regexp.MustCompile(`^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$`)
	h2loadTraffic  = regexp.MustCompile(`^traffic: \S+B \((\d+)\) total, \S+B \(\d+\) headers \(space savings \S+%\), \S+B \(\d+\) data$`)
	h2loadTimes    = regexp.MustCompile(`^time (for request|for connect|to 1st byte): +` + h2loadTime + ` +` + h2loadTime + ` +` + h2loadTime + ` +` + h2loadTime + ` +[0-9.]+%$`)
	h2loadRates    = regexp.MustCompile(`^req/s +:(?: +[0-9.]+){4} +[0-9.]+%$`)
	h2loadOther    = regexp.MustCompile(`^(spawning thread #\d+: .*|Warm-up (started|phase is over) for thread #\d+\.|Main benchmark duration is (started|over) for thread #\d+\..*|` +
		`Stopped all clients for thread #\d+|Application protocol: .*|TLS Protocol: .*|Cipher: .*|Server Temp Key: .*|progress: \d+% (done|of clients started)|` +
		`status codes: \d+ 2xx, \d+ 3xx, 0 4xx, 0 5xx| +min +max +mean +sd +\+/- sd|)$`)

	h2loadUnits = map[string]float64{"us": 1, "ms": 1e3, "s": 1e6}
	h2loadBytes = map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
)

func parseH2load(stdout []byte) (map[string]float64, error) {
	logged, report := cutCounted(stdout, h2loadStart)
	fields, err := parseH2loadReport(report)
	if err != nil || len(logged) == 0 {
		return fields, err
	}
	log, err := checkCounted(logged, fields["requests"])
	if err != nil {
		return nil, err
	}
	fields["seconds"] = log["us"] / 1e6
	fields["requests_per_second"], fields["bytes_per_second"] = fields["requests"]/fields["seconds"], fields["bytes"]/fields["seconds"]
	return fields, nil
}

func parseH2loadReport(all []string) (map[string]float64, error) {
	fields := map[string]float64{}
	if !h2loadStart.MatchString(all[0]) {
		return nil, fmt.Errorf("the first line %q is not h2load's", clip(all[0]))
	}
	ended := false
	for _, line := range all[1:] {
		var err error
		set := func(name, text string, units map[string]float64) {
			if _, twice := fields[name]; twice && err == nil {
				err = fmt.Errorf("a second line of the same kind: %q", clip(line))
			}
			m := h2loadScale.FindStringSubmatch(text) // the expressions of the lines allow no other
			v, e := number(m[1], line)
			if e != nil && err == nil {
				err = e
			}
			fields[name] = v * units[m[2]]
		}
		if m := h2loadFinished.FindStringSubmatch(line); m != nil {
			set("seconds", m[1], h2loadUnits)
			fields["seconds"] /= 1e6
			set("requests_per_second", m[2], h2loadBytes)
			set("bytes_per_second", m[3], h2loadBytes)
		} else if m := h2loadRequests.FindStringSubmatch(line); m != nil {
			set("requests", m[2], h2loadBytes)
			if m[1] != m[2] || m[3] != "0" || m[4] != "0" || m[5] != "0" {
				err = fmt.Errorf("not every request was answered well: %q", clip(line))
			}
		} else if m := h2loadTraffic.FindStringSubmatch(line); m != nil {
			set("bytes", m[1], h2loadBytes)
		} else if m := h2loadTimes.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "for request":
				set("latency_min", m[2], h2loadUnits)
				set("latency_max", m[3], h2loadUnits)
				set("latency_avg", m[4], h2loadUnits)
				set("latency_stdev", m[5], h2loadUnits)
			case "for connect":
				set("connect_avg", m[4], h2loadUnits)
			default:
				set("first_byte_avg", m[4], h2loadUnits)
			}
		} else if h2loadRates.MatchString(line) {
			ended = true
		} else if !h2loadOther.MatchString(line) {
			err = fmt.Errorf("h2load 1.52 does not print such a line: %q", clip(line))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := complete("h2load", fields, all, "seconds", "requests", "bytes", "latency_avg", "connect_avg", "first_byte_avg"); err != nil {
		return nil, err
	}
	switch {
	case !ended:
		return nil, fmt.Errorf("no req/s: h2load's report is not complete, %s", ending(all))
	case fields["requests"] == 0:
		return nil, fmt.Errorf("no request was answered: %s", ending(all))
	}
	return fields, nil
}
