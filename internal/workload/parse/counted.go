package parse

import (
	"fmt"
	"math"
	"regexp"
	"slices"
)

// The requests of a driver's log, counted by the pack: docs/reference/parsers.md, "Counted
// requests".

var (
	countedStart   = regexp.MustCompile(`^(\d+) requests in (\d+) us$`)
	countedLatency = regexp.MustCompile(`^(\d+) us: (\d+)$`)
)

// cutCounted separates the counted requests from the report, which begins with a line
// like start. They come first, so that an output that is truncated before them does
// not pass for one without.
func cutCounted(stdout []byte, start *regexp.Regexp) (logged, report []string) {
	all := lines(stdout)
	if !countedStart.MatchString(all[0]) {
		return nil, all
	}
	at := max(slices.IndexFunc(all, start.MatchString), 0)
	return all[:at], all[at:]
}

// splitCounted splits where the counted requests begin or, without any, the report.
func splitCounted(start *regexp.Regexp) func([]byte) ([][]byte, error) {
	return func(file []byte) ([][]byte, error) {
		logged := false
		return splitAt(file, func(line string) bool {
			report, counts := start.MatchString(line), countedStart.MatchString(line)
			begins := counts || report && !logged
			logged = counts || logged && !report
			return begins
		})
	}
}

// countedHistogram returns the distribution latency, in a unit of that many us.
func countedHistogram(start *regexp.Regexp, unit float64) func([]byte) (map[string]Histogram, error) {
	return func(stdout []byte) (map[string]Histogram, error) {
		logged, _ := cutCounted(stdout, start)
		if len(logged) == 0 {
			return nil, nil
		}
		_, h, err := counted(logged)
		for i, b := range h {
			h[i] = Bin{b.Low / unit, b.High / unit, b.Count}
		}
		return map[string]Histogram{"latency": h}, err
	}
}

// checkCounted returns the number of counted requests and their time in us, if the
// report has as many.
func checkCounted(logged []string, requests float64) (log map[string]float64, err error) {
	log, _, err = counted(logged)
	switch {
	case err != nil:
		return nil, err
	case log["requests"] != requests:
		return nil, fmt.Errorf("the log has %v requests, and the report %v", log["requests"], requests)
	case log["us"] == 0:
		return nil, fmt.Errorf("the requests took no time: %q", clip(logged[0]))
	}
	return log, nil
}

// counted returns how many requests were successful, the time from the start of the
// first one to the end of the last one, and the latencies. Each is a bin's lowest, in
// whole us; the bins are fio's.
func counted(logged []string) (log map[string]float64, h Histogram, err error) {
	log = map[string]float64{}
	if err := take(log, logged[0], countedStart.FindStringSubmatch(logged[0])[1:], "requests", "us"); err != nil {
		return nil, nil, err
	}
	requests, next, bin := 0.0, 0.0, map[string]float64{}
	for _, line := range logged[1:] {
		m := countedLatency.FindStringSubmatch(line)
		if m == nil {
			return nil, nil, fmt.Errorf("no line of counted requests: %q", clip(line))
		} else if err := take(bin, line, m[1:], "us", "requests"); err != nil {
			return nil, nil, err
		}
		low, width := bin["us"], fioBin(bin["us"])
		if low < next || math.Mod(low, max(width, 1)) != 0 {
			return nil, nil, fmt.Errorf("not in the order of latencies, or not the start of a bin: %q", clip(line))
		}
		next = low + max(width, 1)
		h, requests = append(h, Bin{low, low + width, bin["requests"]}), requests+bin["requests"]
	}
	if requests != log["requests"] {
		return nil, nil, fmt.Errorf("the lines after %q count %v requests", clip(logged[0]), requests)
	}
	return log, h, nil
}
