package parse

import (
	"fmt"
	"math"
	"regexp"
)

var ab = Parser{
	Name:     "ab",
	About:    "ApacheBench, and after its report the file of -e, if there is one; failed requests are a field, since ab counts responses whose length differs from the first one's",
	Versions: "2.3 of Apache 2.4.68",
	Fields: []Field{
		{"requests", "op"}, {"failed", "op"}, {"failed_connect", "op"}, {"failed_receive", "op"}, {"failed_length", "op"}, {"failed_exceptions", "op"},
		{"write_errors", "op"}, {"non_2xx", "op"}, {"keep_alive_requests", "op"}, {"concurrency", "1"}, {"seconds", "s"},
		{"requests_per_second", "op/s"}, {"time_per_request", "ms"}, {"time_per_request_concurrent", "ms"},
		{"bytes", "B"}, {"bytes_per_second", "B/s"},
		{"connect_mean", "ms"}, {"waiting_mean", "ms"}, {"latency_min", "ms"}, {"latency_mean", "ms"}, {"latency_stdev", "ms"}, {"latency_max", "ms"},
		{"latency_p50", "ms"}, {"latency_p66", "ms"}, {"latency_p75", "ms"}, {"latency_p80", "ms"},
		{"latency_p90", "ms"}, {"latency_p95", "ms"}, {"latency_p98", "ms"}, {"latency_p99", "ms"}, {"latency_p100", "ms"},
	},
	Parse:    parseAB,
	Split:    splitPrefix("This is ApacheBench, "),
	Settings: settingsIn(`^This is ApacheBench, Version (?P<version>\S+)`, `^Concurrency Level: +(?P<concurrency>\d+)$`, `^Document Path: +(?P<path>\S+)$`),

	Distributions: []Field{{"latency", "ms"}},
	Histograms:    abHistograms,
}

var abReport = report{
	tool:  "ApacheBench 2.3",
	first: regexp.MustCompile(`^This is ApacheBench, Version 2\.3 <\$Revision.*\$>$`),
	lines: append(patterns(
		`^Concurrency Level: +(?P<concurrency>\d+)$`,
		`^Time taken for tests: +(?P<seconds>[0-9.]+) seconds$`,
		`^Complete requests: +(?P<requests>\d+)$`,
		`^Failed requests: +(?P<failed>\d+)$`,
		`^   \(Connect: (?P<failed_connect>\d+), Receive: (?P<failed_receive>\d+), Length: (?P<failed_length>\d+), Exceptions: (?P<failed_exceptions>\d+)\)$`,
		`^Write errors: +(?P<write_errors>\d+)$`,
		`^Non-2xx responses: +(?P<non_2xx>\d+)$`,
		`^Keep-Alive requests: +(?P<keep_alive_requests>\d+)$`,
		`^Total transferred: +(?P<bytes>\d+) bytes$`,
		`^Requests per second: +(?P<requests_per_second>[0-9.]+) \[#/sec\] \(mean\)$`,
		`^Time per request: +(?P<time_per_request>[0-9.]+) \[ms\] \(mean\)$`,
		`^Time per request: +(?P<time_per_request_concurrent>[0-9.]+) \[ms\] \(mean, across all concurrent requests\)$`,
		`^Transfer rate: +(?P<bytes_per_second>[0-9.]+) \[Kbytes/sec\] received$`,
		`^Connect: +\d+ +(?P<connect_mean>\d+) +[0-9.]+ +\d+ +\d+$`,
		`^Waiting: +\d+ +(?P<waiting_mean>\d+) +[0-9.]+ +\d+ +\d+$`,
		`^Total: +(?P<latency_min>\d+) +(?P<latency_mean>\d+) +(?P<latency_stdev>[0-9.]+) +\d+ +(?P<latency_max>\d+)$`,
	), abPercentiles()...),
	other: anyOf(
		`Copyright 1996 .*`, `Licensed to .*`, `Benchmarking \S+ (\[through .*\] )?\(be patient\)(\.*done)?`, `(Completed|Finished) \d+ requests`,
		`Server (Software|Hostname|Port):.*`, `SSL/TLS Protocol:.*`, `Server Temp Key:.*`, `TLS Server Name:.*`, `Document (Path|Length):.*`,
		`Total (body sent|PUT|POSTed):.*`, `HTML transferred: +\d+ bytes`, ` +[0-9.]+ kb/s (sent|total)`,
		`Connection Times \(ms\)`, ` +min +mean\[\+/-sd\] +median +max`, `Processing: +.*`,
		`Percentage of the requests served within a certain time \(ms\)`, abTableHead, `\d+,[0-9.]+`,
		// ab compares its mean and median after rounding both to milliseconds:
		// if all requests take about as long, rounding alone triggers this
		// warning.
		`WARNING: The median and mean for the .* time are not within a normal deviation`, ` +These results are probably not that reliable\.`,
		`ERROR: The median and mean for the .* time are more than twice the standard`, ` +deviation apart\. These results are NOT reliable\.`,
	),
	wanted: []string{"requests", "failed", "seconds", "requests_per_second", "time_per_request", "bytes_per_second", "latency_mean"},
}

func abPercentiles() (all []*regexp.Regexp) {
	for _, p := range []string{"50", "66", "75", "80", "90", "95", "98", "99", "100"} {
		all = append(all, patterns(`^ +`+p+`% +(?P<latency_p`+p+`>\d+)( \(longest request\))?$`)...)
	}
	return all
}

// abTableHead begins the file of -e, which has the percentiles from 0 to 100.
const abTableHead = "Percentage served,Time in ms"

var abTableLine = regexp.MustCompile(`^(\d+),([0-9.]+)$`)

// abHistograms returns the distribution in the file of -e. Its line for percentile
// p has the request number p*requests/100, rounded, from 0 in the order of their
// times, except for 100, which has the last one. Up to 50 requests the number for 99
// is that of a request that does not exist, and ab prints something else.
func abHistograms(stdout []byte) (map[string]Histogram, error) {
	fields, err := parseAB(stdout)
	if err != nil {
		return nil, err
	}
	h, inside := Histogram{}, false
	before, value := -1.0, 0.0
	for _, line := range lines(stdout) {
		m := abTableLine.FindStringSubmatch(line)
		if inside = inside && m != nil || line == abTableHead; m == nil || !inside {
			continue
		}
		p, err := number(m[1], line)
		if err != nil {
			return nil, err
		}
		at := math.Floor(.5 + p*fields["requests"]/100)
		if p == 100 {
			at = fields["requests"] - 1
		}
		if at >= fields["requests"] || at == before {
			continue
		}
		below := value
		if value, err = number(m[2], line); err != nil {
			return nil, err
		} else if value < below {
			return nil, fmt.Errorf("ab's percentiles do not rise at %q", line)
		}
		if at == before+1 {
			below = value
		}
		h = append(h, Bin{below, value, at - before})
		before = at
	}
	if len(h) == 0 {
		return nil, nil
	} else if before != fields["requests"]-1 {
		return nil, fmt.Errorf("the file of ab -e is not complete: %s", ending(lines(stdout)))
	}
	return map[string]Histogram{"latency": h}, nil
}

func parseAB(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	all := lines(stdout)
	fields, err := abReport.read(all)
	if err != nil {
		return nil, err
	}
	if fields["requests"] > 1 { // of one request ab prints no percentiles
		if err := complete("ab", fields, all, "latency_p50", "latency_p100"); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"write_errors", "non_2xx"} { // ab prints these lines only if they are not zero
		fields[name] += 0
	}
	fields["bytes_per_second"] *= 1024
	return fields, nil
}
