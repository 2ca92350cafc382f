package parse

import (
	"fmt"
	"regexp"
)

var wrk = Parser{
	Name:     "wrk",
	About:    "wrk, with or without --latency; responses other than 2xx and 3xx, and socket errors, are an error",
	Versions: "4.1.0",
	Fields: []Field{
		{"requests", "op"}, {"seconds", "s"}, {"bytes", "B"},
		{"requests_per_second", "op/s"}, {"bytes_per_second", "B/s"},
		{"latency_avg", "us"}, {"latency_stdev", "us"}, {"latency_max", "us"},
		{"latency_p50", "us"}, {"latency_p75", "us"}, {"latency_p90", "us"}, {"latency_p99", "us"},
	},
	Parse:    parseWrk,
	Split:    func(file []byte) ([][]byte, error) { return splitAt(file, wrkStart.MatchString) },
	Settings: settingsIn(`^Running (?P<duration>\S+) test @ \S+$`, `^  (?P<threads>\d+) threads and (?P<connections>\d+) connections$`),
}

var (
	wrkStart  = regexp.MustCompile(`^Running \S+ test @ \S+$`)
	wrkReport = report{
		tool:  "wrk 4.1",
		first: wrkStart,
		lines: patterns(
			// Columns have a fixed width: a value that fills its column has no blank
			// before it.
			`^    Latency +(?P<latency_avg>[0-9.]+[a-z]+) *(?P<latency_stdev>[0-9.]+[a-z]+) *(?P<latency_max>[0-9.]+[a-z]+) *([0-9.]+|-?nan)%$`,
			`^ +50% +(?P<latency_p50>\S+)$`, `^ +75% +(?P<latency_p75>\S+)$`, `^ +90% +(?P<latency_p90>\S+)$`, `^ +99% +(?P<latency_p99>\S+)$`,
			`^  (?P<requests>\d+) requests in (?P<seconds>\S+), (?P<bytes>\S+) read$`,
			`^Requests/sec: +(?P<requests_per_second>[0-9.]+)$`,
			`^Transfer/sec: +(?P<bytes_per_second>\S+B)$`),
		other:  anyOf(`  \d+ threads and \d+ connections`, `  Thread Stats .*`, `    Req/Sec .*`, `  Latency Distribution`),
		failed: regexp.MustCompile(`^  (Non-2xx or 3xx responses|Socket errors):`),
		wanted: []string{"latency_avg", "requests", "requests_per_second", "bytes_per_second"},
		units: map[string]float64{
			"": 1, "us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6,
			"1000.00m": 1e6, // ms, cut off at the column's width
			// Powers of 1024, regardless of their names.
			"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40,
		},
	}
)

func parseWrk(stdout []byte) (map[string]float64, error) {
	all := lines(stdout)
	fields, err := wrkReport.read(all)
	if err != nil {
		return nil, err
	}
	if fields["requests"] == 0 {
		return nil, fmt.Errorf("no request was answered: %s", ending(all))
	}
	fields["seconds"] /= 1e6
	return fields, nil
}
