package parse

import (
	"fmt"
	"regexp"
	"strings"
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
	wrkStart   = regexp.MustCompile(`^Running \S+ test @ \S+$`)
	wrkScale   = regexp.MustCompile(`^([0-9.]+)([A-Za-z]*)$`)
	wrkThreads = regexp.MustCompile(`^  \d+ threads and \d+ connections$`)
	// Columns have a fixed width: a value that fills its column has no blank
	// before it.
	wrkLatency  = regexp.MustCompile(`^    Latency +([0-9.]+[a-z]+) *([0-9.]+[a-z]+) *([0-9.]+[a-z]+) *([0-9.]+|-?nan)%$`)
	wrkQuantile = regexp.MustCompile(`^ +(50|75|90|99)% +(\S+)$`)
	wrkTotal    = regexp.MustCompile(`^  (\d+) requests in (\S+), (\S+) read$`)
	wrkRate     = regexp.MustCompile(`^Requests/sec: +([0-9.]+)$`)
	wrkTransfer = regexp.MustCompile(`^Transfer/sec: +(\S+)$`)
	wrkOther    = regexp.MustCompile(`^(  Thread Stats .*|    Req/Sec .*|  Latency Distribution|)$`)

	wrkTimes = map[string]float64{"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
	// wrk's byte units are powers of 1024, regardless of their names.
	wrkBytes = map[string]float64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
)

func parseWrk(stdout []byte) (map[string]float64, error) {
	fields, all := map[string]float64{}, lines(stdout)
	if !wrkStart.MatchString(all[0]) {
		return nil, fmt.Errorf("the first line %q is not wrk's", clip(all[0]))
	}
	for _, line := range all[1:] {
		var err error
		set := func(name, text string, units map[string]float64) {
			if _, twice := fields[name]; twice && err == nil {
				err = fmt.Errorf("a second line of the same kind: %q", clip(line))
			}
			v, e := wrkNumber(text, line, units)
			if e != nil && err == nil {
				err = e
			}
			fields[name] = v
		}
		if m := wrkLatency.FindStringSubmatch(line); m != nil {
			set("latency_avg", m[1], wrkTimes)
			set("latency_stdev", m[2], wrkTimes)
			set("latency_max", m[3], wrkTimes)
		} else if m := wrkQuantile.FindStringSubmatch(line); m != nil {
			set("latency_p"+m[1], m[2], wrkTimes)
		} else if m := wrkTotal.FindStringSubmatch(line); m != nil {
			set("requests", m[1], nil)
			set("seconds", m[2], wrkTimes)
			fields["seconds"] /= 1e6
			set("bytes", m[3], wrkBytes)
		} else if m := wrkRate.FindStringSubmatch(line); m != nil {
			set("requests_per_second", m[1], nil)
		} else if m := wrkTransfer.FindStringSubmatch(line); m != nil {
			set("bytes_per_second", m[1], wrkBytes)
		} else if strings.HasPrefix(line, "  Non-2xx or 3xx responses:") || strings.HasPrefix(line, "  Socket errors:") {
			err = fmt.Errorf("not every request was answered well: %q", clip(strings.TrimSpace(line)))
		} else if !wrkThreads.MatchString(line) && !wrkOther.MatchString(line) {
			err = fmt.Errorf("wrk 4.1 does not print such a line: %q", clip(line))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := complete("wrk", fields, all, "latency_avg", "requests", "requests_per_second", "bytes_per_second"); err != nil {
		return nil, err
	}
	if fields["requests"] == 0 {
		return nil, fmt.Errorf("no request was answered: %s", ending(all))
	}
	return fields, nil
}

// wrkNumber parses a value with wrk's unit, or a plain number.
func wrkNumber(text, line string, units map[string]float64) (float64, error) {
	m := wrkScale.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q in the line %q is not a number", text, clip(line))
	}
	factor, known := units[m[2]]
	if units == nil && m[2] == "" {
		factor, known = 1, true
	}
	if !known {
		return 0, fmt.Errorf("unknown unit in %q of the line %q", text, clip(line))
	}
	if text == "1000.00m" {
		factor = wrkTimes["ms"] // cut off at the column's width
	}
	v, err := number(m[1], line)
	return v * factor, err
}
